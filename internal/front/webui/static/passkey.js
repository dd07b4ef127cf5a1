// Passkeys are the one thing on these pages that needs a script: the browser
// talks to the authenticator only through it. Buttons that need it are hidden
// until it has found that the browser can.
'use strict';

(() => {
  if (!window.PublicKeyCredential || !PublicKeyCredential.parseRequestOptionsFromJSON) return;

  class Refused extends Error {} // by this site, in the visitor's language; what browsers say is for developers

  const post = async (path, body) => {
    const answer = await fetch(path, {
      method: 'POST', credentials: 'same-origin',
      headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Refused(said.message);
    return said;
  };

  const signIn = async (form) => {
    const {step, next} = form.dataset;
    const options = PublicKeyCredential.parseRequestOptionsFromJSON((await post('/login/passkey/options', {step})).publicKey);
    const credential = await navigator.credentials.get({publicKey: options});
    return post('/login/passkey', {step, next, credential: credential.toJSON()});
  };

  for (const form of document.querySelectorAll('form[data-passkey]')) {
    form.hidden = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const problem = form.querySelector('[role=alert]');
      problem.hidden = true;
      try {
        const said = await signIn(form);
        location.assign(said.next);
      } catch (err) {
        if (err.name === 'NotAllowedError' || err.name === 'AbortError') return; // the person changed their mind
        problem.textContent = err instanceof Refused ? err.message : form.dataset.failed;
        problem.hidden = false;
      }
    });
  }
})();
