/** Asks for every target in every way that a page has; says what it could read. Called by the test in the browser. */
// biome-ignore lint/correctness/noUnusedVariables: see above
async function attack(targets) {
  const tried = [];
  const note = (how, url, read) => tried.push({ how, url, read });
  const soon = (work) =>
    new Promise((done) => {
      work(done);
      setTimeout(() => done(""), 1500);
    });
  const one = async ({ method, url, body }) => {
    const isRead = method === "GET";
    for (const mode of ["cors", "no-cors"]) {
      for (const credentials of ["include", "omit"]) {
        for (const type of isRead ? [""] : ["text/plain", "application/json", "application/x-www-form-urlencoded"]) {
          const init = { method, mode, credentials, ...(isRead ? {} : { body, headers: { "Content-Type": type } }) };
          const read = await fetch(url, { ...init, signal: AbortSignal.timeout(1500) })
            .then((answer) => answer.text())
            .catch(() => "");
          note(`fetch ${mode} ${credentials} ${type}`, url, read);
        }
      }
    }
    if (!isRead) {
      navigator.sendBeacon(url, body);
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.name = `frame-${tried.length}`;
      const form = document.body.appendChild(document.createElement("form"));
      Object.assign(form, { method: "post", action: url, target: frame.name, enctype: "text/plain" });
      const field = form.appendChild(document.createElement("input"));
      // The usual way to write JSON with a form: the name is its beginning, the value its end.
      field.name = `${body.slice(0, -1)},"x":"`;
      field.value = '"}';
      form.submit();
      note("form", url, await soon((done) => frame.addEventListener("load", () => done(readFrame(frame)))));
      return;
    }
    const loaded = (tag) =>
      soon((done) => {
        const element = document.createElement(tag);
        element.setAttribute(tag === "link" ? "href" : "src", url);
        if (tag === "link") element.setAttribute("rel", "stylesheet");
        element.addEventListener("load", () => done(`${tag} loaded`));
        element.addEventListener("error", () => done(""));
        document.body.append(element);
      });
    for (const tag of ["img", "script", "link", "video"]) note(tag, url, await loaded(tag));
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.src = url;
    note("iframe", url, await soon((done) => frame.addEventListener("load", () => done(readFrame(frame)))));
    const stream = new EventSource(url, { withCredentials: true });
    note(
      "event source",
      url,
      await soon((done) => {
        stream.addEventListener("open", () => done("opened"));
        stream.addEventListener("error", () => done(""));
      }),
    );
    stream.close();
    const socket = new WebSocket(url.replace("http", "ws"));
    note(
      "web socket",
      url,
      await soon((done) => {
        socket.addEventListener("open", () => done("opened"));
        socket.addEventListener("error", () => done(""));
      }),
    );
  };
  const readFrame = (frame) => {
    try {
      return frame.contentDocument?.body?.innerText ?? "";
    } catch {
      return "";
    }
  };
  await Promise.all(targets.map(one));
  return tried;
}
