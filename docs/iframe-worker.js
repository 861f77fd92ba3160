// The site's search runs in a worker, which browsers refuse to pages that are opened from a folder. There a hidden frame
// takes its place: the script that would be the worker's runs in the frame, and messages pass as events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.documentElement.append(frame);
      const script = Object.assign(frame.contentDocument.createElement("script"), { src: url });
      this.inside = frame.contentWindow;
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = new Promise(done => { script.onload = done; });
      frame.contentDocument.documentElement.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  };
}
