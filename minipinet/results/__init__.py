"""What a results store says: statistics, tables beside the published numbers, figures.

Two doors, for rows: :func:`minipinet.results.tables.make_tables` and :func:`minipinet.results.figures.draw_figures`.
Behind them:

- ``naming``: what a row is called;
- ``table``: what a table is, which rows may stand in one, and what must be said of rows;
- ``fold_results`` and ``fold_tables``: comparison and message-passing as numbers, and their tables;
- ``isomorphism_tables``: those of the isomorphism test;
- ``comparisons``: the lines of all tables of tests;
- ``accuracies`` and ``statistics``: means, spreads and p-values of plain lists of accuracies;
- ``published``: the paper's numbers;
- ``figure_data`` and ``drawing``: what figures show, and how.
"""
