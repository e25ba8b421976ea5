// Sphinx's scores, but for objects: a chapter about a word comes before each function that has it in its name.
var Scorer = {
  objNameMatch: 6,
  objPartialMatch: 1,
  objPrio: { 0: 0, 1: 0, 2: 0 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
