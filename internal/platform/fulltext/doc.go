// Package fulltext searches texts in Uzbek, Russian and English, on both engines.
//
// An index belongs to a section, whose migration makes its tables; their names begin with the section's:
//
//   - <section>_words (lang, word, stem, latin), a table like any other: the words that occur, by which typing errors are
//     recognised;
//   - <section>_fts: on SQLite an FTS5 table of stems with the columns lang, title, keywords, summary and body; on
//     PostgreSQL a table (rowid, lang, document) with a tsvector, made with the dictionary of the language;
//   - <section>_fts_words: on SQLite an FTS5 table (lang, word) of trigrams. PostgreSQL has an index of trigrams on
//     <section>_words (latin) where the extension pg_trgm can be made.
//
// What holds on both engines: a document is found by words in any form, and by the beginning of a word; the title counts
// more than the keywords, these more than the summary, and the body counts least. Who writes oʻ as o', o‘ or o finds the
// same. A search wants all words; when no document has them, words that occur nowhere are taken for typing errors of
// words that do; when that finds nothing either, any of the words is enough. Without the trigrams of PostgreSQL, typing
// errors are not forgiven, and all else is the same.
package fulltext
