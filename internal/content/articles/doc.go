// Package articles owns what a company publishes to read: the knowledge base, the blog and the glossary (specification,
// "Content"), with their pictures.
//
// An article is known by its kind and slug and has a text in each language that it was written in. Texts are Markdown,
// kept as they were written; HTML is made when it is asked for, and sanitised. Files with front matter are the form in
// which texts come in and go out (file.go): a company keeps them in git and imports them, and the library that ships with
// Stead (library.go) has the same form.
//
// What holds:
//
//   - An import is whole or nothing: a directory with a problem changes nothing, and each problem names file and line.
//     Importing the same directory again changes nothing, and so does importing what was exported.
//   - Links between articles and pictures resolve when they are imported.
//   - Nobody sees a draft, or a post before its time.
//   - A newer library replaces only articles that came from an older one and that nobody has changed or removed.
//   - The index of the search is written in the transaction that changes the articles.
//
// Not promised: that a text exists in every language. Readers of another language get it in one that exists.
package articles
