-- +goose Up

-- Articles of the knowledge base, posts of the blog and terms of the glossary.
CREATE TABLE articles (
    id           {{id}},
    kind         TEXT    NOT NULL CHECK (kind IN ('kb', 'blog', 'glossary')), -- what it is
    slug         TEXT    NOT NULL,    -- its name in addresses and in the names of its files
    category     TEXT    NOT NULL,    -- one of those of its kind; empty for terms of the glossary
    position     INTEGER NOT NULL,    -- its place among those of its category
    published_at BIGINT,              -- when it becomes visible; NULL: at once
    source       TEXT    NOT NULL CHECK (source IN ('library', 'company')), -- who wrote what it says now
    version      BIGINT  NOT NULL,    -- one more with each change: whoever writes names the one that they have read
    UNIQUE (kind, slug)
);
CREATE INDEX articles_order ON articles (kind, category, position, id);
CREATE INDEX articles_published ON articles (kind, published_at, id);

-- An article in one language.
CREATE TABLE articles_texts (
    id          {{id}},
    article_id  BIGINT  NOT NULL REFERENCES articles (id) ON DELETE CASCADE, -- the article
    lang        TEXT    NOT NULL CHECK (lang IN ('uz', 'ru', 'en')),         -- the language
    title       TEXT    NOT NULL, -- the title; of a term of the glossary: the term
    description TEXT    NOT NULL, -- one or two sentences on it; of a term: its short definition
    keywords    TEXT    NOT NULL, -- JSON list of words by which the search finds it, beside those that it contains
    author      TEXT    NOT NULL, -- who signs it; may be empty
    updated_at  BIGINT,           -- the day on which it was last reviewed; NULL: not said
    draft       BOOLEAN NOT NULL, -- whether nobody sees it yet
    body        TEXT    NOT NULL, -- Markdown
    sort_key    TEXT    NOT NULL, -- the title in the order of the language's alphabet, as hexadecimal digits
    UNIQUE (article_id, lang)
);
CREATE INDEX articles_texts_alphabet ON articles_texts (lang, sort_key);

-- Pictures of articles.
CREATE TABLE articles_media (
    name    TEXT      NOT NULL PRIMARY KEY, -- of the file, such as dns-records.png
    content {{bytes}} NOT NULL,             -- the file
    width   INTEGER   NOT NULL,             -- in pixels; 0: not known, as of drawings (SVG)
    height  INTEGER   NOT NULL,             -- in pixels; 0: not known
    source  TEXT      NOT NULL CHECK (source IN ('library', 'company')) -- who made what it shows now
);

-- What the library that ships with Stead has brought into this installation. What is listed here and gone was removed by
-- the company, and does not come back.
CREATE TABLE articles_library (
    name    TEXT NOT NULL PRIMARY KEY, -- kind and slug, such as kb/first-site; media and the file; or library itself
    version TEXT NOT NULL              -- hash of what was brought last
);

-- The words of the knowledge base, by which the search recognises typing errors. The index of the search itself is the
-- table articles_fts, which each engine has in a form of its own (package fulltext).
CREATE TABLE articles_words (
    lang  TEXT NOT NULL, -- the language
    word  TEXT NOT NULL, -- the word in small letters, without apostrophes
    stem  TEXT NOT NULL, -- its stem
    latin TEXT NOT NULL, -- the word in Latin letters
    PRIMARY KEY (lang, word)
);
CREATE INDEX articles_words_stem ON articles_words (lang, stem);

{{sqlite}} CREATE VIRTUAL TABLE articles_fts USING fts5(lang UNINDEXED, title, keywords, summary, body, tokenize = "unicode61 remove_diacritics 0");
{{sqlite}} CREATE VIRTUAL TABLE articles_fts_words USING fts5(lang UNINDEXED, word, tokenize = "trigram");
{{postgres}} CREATE TABLE articles_fts (rowid BIGINT PRIMARY KEY, lang TEXT NOT NULL, document TSVECTOR NOT NULL);
{{postgres}} CREATE INDEX articles_fts_document ON articles_fts USING gin (document);

-- Trigrams are an extension of PostgreSQL. Where it cannot be made, the search works without forgiving typing errors.
{{postgres}} -- +goose StatementBegin
{{postgres}} DO $$ BEGIN
{{postgres}}     CREATE EXTENSION IF NOT EXISTS pg_trgm;
{{postgres}}     CREATE INDEX articles_words_trigrams ON articles_words USING gin (latin gin_trgm_ops);
{{postgres}} EXCEPTION WHEN OTHERS THEN
{{postgres}}     RAISE NOTICE 'pg_trgm is not available: %', SQLERRM;
{{postgres}} END $$;
{{postgres}} -- +goose StatementEnd
