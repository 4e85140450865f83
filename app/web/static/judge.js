// Keys for blind judging: 1, 2 or 0 chooses, arrows set the confidence, Enter submits. The form works without them.

const form = document.querySelector("#judgment");
const CHOICES = ["1", "2", "0"];

function choose(key) {
  form.querySelector(`[name=winner][value="${key}"]`).checked = true;
  (form.querySelector("[name=confidence]:checked") ?? form.querySelector("[name=confidence]")).focus();
}

if (form) {
  // Also on radio buttons, where shell.js ignores keys.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (CHOICES.includes(event.key)) {
      event.preventDefault();
      choose(event.key);
    } else if (event.key === "Enter" && !event.target.closest("a, button, summary")) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.addEventListener("submit", () => { form.querySelector("button").disabled = true; });
  form.dataset.keys = "on";
}
