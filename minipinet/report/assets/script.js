"use strict";
// The controls of the gallery. Every number comes from the element "gallery-data"; no score is computed here.
(() => {
  const data = JSON.parse(document.getElementById("gallery-data").textContent);
  const slider = document.getElementById("column");
  if (!slider) return; // a report without a gallery
  const columnName = document.getElementById("column-name");
  const scoreOf = document.getElementById("score");
  const onNodes = document.getElementById("on-nodes"); // null where nodes have no labels

  const signed = (x) => (x < 0 ? "\u2212" : "+") + Math.abs(x).toPrecision(3);
  // Column j is weights[:, j] of model.attention; -1, all of them together, stands behind the last.
  const columnText = (j) => (j < 0 ? `all ${data.columns} columns` : `column ${j}`);

  const cards = [...document.querySelectorAll(".card")].map((element, k) => {
    const graph = data.graphs[k];
    const nodes = [...element.querySelectorAll(".node")];
    const card = { element, graph, nodes, chosen: null, numbering: 0 };
    card.labels = graph.labels && nodes.map((node) => node.querySelector("text").textContent); // as much as fits
    nodes.forEach((node, i) => {
      const choose = () => chooseNode(card, i);
      node.addEventListener("pointerenter", choose);
      node.addEventListener("click", choose);
      node.addEventListener("focus", choose);
      node.addEventListener("keydown", (event) => moveFocus(card, i, event));
    });
    element.querySelector("button").addEventListener("click", () => renumber(card));
    return card;
  });

  function weightOf(card, i, j) {
    return card.graph.weights[card.graph.place[i]].at(j);
  }

  function shareOf(card, i, j) {
    return card.graph.shares[card.graph.place[i]].at(j)[scoreOf.selectedIndex];
  }

  function draw(card) {
    const j = slider.valueAsNumber;
    const weights = card.nodes.map((_, i) => weightOf(card, i, j));
    const shares = card.nodes.map((_, i) => shareOf(card, i, j));
    const mostWeight = Math.max(...weights) || 1;
    const mostShare = Math.max(...shares.map(Math.abs)) || 1;
    card.nodes.forEach((node, i) => {
      node.style.setProperty("--size", Math.sqrt(weights[i] / mostWeight));
      node.style.setProperty("--plus", Math.max(shares[i], 0) / mostShare);
      node.style.setProperty("--minus", Math.max(-shares[i], 0) / mostShare);
      node.classList.toggle("against", shares[i] < 0);
      node.setAttribute("aria-label", nodeText(card, i));
    });
    const score = scoreOf.selectedIndex;
    const total = card.graph.totals.at(j)[score];
    card.element.querySelector(".total").textContent =
      `Class ${card.graph.classes[score]}: ${columnText(j)} add${j < 0 ? "" : "s"} ${signed(total)} to the score of ` +
      `${signed(card.graph.scores[score])}` + (card.graph.bias[score] ? `, the bias ${signed(card.graph.bias[score])}.` : ".");
    if (card.chosen !== null) tell(card);
  }

  function nodeText(card, i) {
    const j = slider.valueAsNumber;
    const number = card.graph.numberings[card.numbering][i];
    const label = card.graph.labels ? `, label ${card.graph.labels[i]}` : "";
    return (
      `Node ${number}${label}: attention ${weightOf(card, i, j).toPrecision(3)}${j < 0 ? " (mean)" : ""}, ` +
      `adds ${signed(shareOf(card, i, j))} to class ${card.graph.classes[scoreOf.selectedIndex]}.`
    );
  }

  function tell(card) {
    card.element.querySelector(".node-text").textContent = nodeText(card, card.chosen);
  }

  function chooseNode(card, i) {
    card.nodes.forEach((node, k) => {
      node.classList.toggle("chosen", k === i);
      node.setAttribute("tabindex", k === i ? "0" : "-1"); // one stop of the Tab key a graph
    });
    card.chosen = i;
    tell(card);
  }

  function moveFocus(card, i, event) {
    const last = card.nodes.length - 1;
    const next = { ArrowRight: i + 1, ArrowDown: i + 1, ArrowLeft: i - 1, ArrowUp: i - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    card.nodes[next < 0 ? last : next > last ? 0 : next].focus();
  }

  // Labels while the nodes are numbered as given, unless numbers are asked for.
  function write(card) {
    const labels = card.numbering === 0 && onNodes && onNodes.value === "label" ? card.labels : null;
    const texts = labels || card.graph.numberings[card.numbering];
    card.nodes.forEach((node, i) => (node.querySelector("text").textContent = texts[i]));
  }

  function renumber(card) {
    const { graph, element } = card;
    card.numbering = (card.numbering + 1) % graph.numberings.length;
    const k = card.numbering;
    write(card);
    card.nodes.forEach((node, i) => node.setAttribute("aria-label", nodeText(card, i)));
    let kept = true;
    element.querySelectorAll(".bits tbody tr").forEach((row, r) => {
      const [digits, hex] = graph.bits[k][r];
      const same = hex === graph.bits[0][r][1];
      row.querySelector(".digits").textContent = digits;
      row.querySelector(".hex").textContent = hex;
      const cell = row.querySelector(".same");
      cell.textContent = k === 0 ? "" : same ? "same" : "changed";
      cell.className = `same ${k === 0 ? "" : same ? "kept" : "changed"}`;
      if (row.classList.contains("exact")) kept = kept && same;
    });
    const named = k === 0 ? "Numbered as given." : `Random numbering ${k} of ${graph.numberings.length - 1}.`;
    const stays = k === 0 ? "" : kept ? " The exact score keeps its bits." : " The exact score has changed.";
    element.querySelector(".numbering").textContent = `${named} Predicted: ${graph.predictions[k]}.${stays}`;
    if (card.chosen !== null) tell(card);
  }

  function update() {
    const j = slider.valueAsNumber;
    columnName.textContent = j < 0 ? `all ${data.columns}` : j;
    slider.setAttribute("aria-valuetext", columnText(j));
    cards.forEach(draw);
  }

  slider.addEventListener("input", update);
  scoreOf.addEventListener("change", update);
  if (onNodes) onNodes.addEventListener("change", () => cards.forEach(write));
  update();
})();
