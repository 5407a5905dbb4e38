(() => {
  const box = document.querySelector(".claims-filter");
  const cards = [...document.querySelectorAll("details.claim")];
  const shown = document.querySelector(".claims-shown");
  function show() {
    const [task, verdict, better, text] = [...box.elements].map(one => one.value.toLowerCase());
    let count = 0;
    for (const card of cards) {
      const fits = (!task || card.dataset.task === task) && (!verdict || card.dataset.verdict === verdict)
        && (!better || card.dataset.better === better) && (!text || card.textContent.toLowerCase().includes(text));
      card.hidden = !fits;
      count += fits;
    }
    shown.textContent = `${count} of ${cards.length} shown`;
  }
  box.hidden = false;
  box.addEventListener("input", show);
  box.addEventListener("submit", event => event.preventDefault());
  show();
  function open() {
    const card = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (card && card.matches("details.claim")) { card.open = true; card.scrollIntoView(); }
  }
  addEventListener("hashchange", open);
  open();
})();
