// A browser starts no search for a page that is opened from the disk: what cannot work there is not shown.
if (location.protocol === "file:")
  for (const part of document.querySelectorAll(".md-search, label[for=__search]")) part.style.display = "none";
