// Opened as files, pages may not read each other: the list of results then goes without the lines around a word.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
