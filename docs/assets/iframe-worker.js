// A browser starts no worker for a page that is opened from the disk: there the search works in a hidden frame.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      window.addEventListener("message", ({ source, data }) => {
        if (source === this.frame.contentWindow) this.dispatchEvent(new MessageEvent("message", { data }));
      });
      this.ready = new Promise((resolve) => (this.frame.onload = resolve));
      const page = this.frame.contentDocument;
      page.open();
      page.write('<script>postMessage = (data) => parent.postMessage(data, "*")</script>');
      page.write(`<script src="${url}"></script>`);
      page.close();
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
