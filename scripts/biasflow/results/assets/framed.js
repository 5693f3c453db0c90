// Within a page of `snakemake --report`, where relative links lead nowhere, that page is asked to show what a link names.
if (window.parent !== window) document.addEventListener("click", event => {
  const link = event.target.closest("a[href]")?.getAttribute("href");
  if (!link || /^(#|[a-z]+:)/.test(link)) return;
  event.preventDefault();
  window.parent.postMessage({ biasflow: link.replace(/^(\.\.?\/)+/, "").replace(/#.*/, "") }, "*");
});
