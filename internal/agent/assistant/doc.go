// Package assistant answers customers' questions from the knowledge base and from what their account has (specification,
// section "AI agent").
//
// It finds articles and facts by fixed rules, so it works without a model; where there is one, the model words the answer.
//
// What holds:
//
//   - It never acts: it has no tools, and what a model answers is shown as text and nothing else.
//   - Facts are of the caller's own account, and only of what the scopes of the application read. Each application has a
//     conversation of its own, so what one may read is not told to another.
//   - An answer names all that it is from. One for which nothing was found, and each one whose asker wants a person, leads on to
//     the company's support, with a draft of a ticket that the asker reads and sends.
//   - To a model, articles, facts and earlier messages are data in JSON with a mark that cannot be guessed. Secrets in a question
//     are masked before it is stored or sent. A model is not asked inside a transaction; one that fails costs its wording only.
//   - A conversation keeps its last 100 messages; questions are bounded in length and by the hour.
package assistant
