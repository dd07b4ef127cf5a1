-- +goose Up

-- How the company shows itself: what staff have set. An empty column means that the configuration's value holds.
CREATE TABLE company_settings (
    id            BIGINT PRIMARY KEY CHECK (id = 1), -- there is one row, from the first change on
    name          TEXT   NOT NULL, -- name on pages and in mails
    color         TEXT   NOT NULL, -- accent of buttons and links, #rrggbb
    support_email TEXT   NOT NULL, -- address where customers find help
    terms_url     TEXT   NOT NULL, -- the terms of service
    privacy_url   TEXT   NOT NULL, -- how personal data is used
    imprint_url   TEXT   NOT NULL, -- who the company is
    updated_at    BIGINT NOT NULL  -- when staff changed it last
);

-- The company's pictures.
CREATE TABLE company_images (
    kind         TEXT      PRIMARY KEY CHECK (kind IN ('logo', 'icon')), -- logo: stands for the name; icon: in a browser's tab
    content_type TEXT      NOT NULL, -- its type, as it is served
    hash         TEXT      NOT NULL, -- of the content, in its address
    size         BIGINT    NOT NULL, -- in bytes
    content      {{bytes}} NOT NULL, -- the picture
    updated_at   BIGINT    NOT NULL  -- when staff uploaded it
);

-- Texts of mails that staff have changed. Where a kind of mail has no row in a language, the shipped text holds.
CREATE TABLE company_letters (
    kind       TEXT   NOT NULL, -- kind of mail, such as account.recovery
    language   TEXT   NOT NULL CHECK (language IN ('uz', 'ru', 'en')), -- language of the text
    subject    TEXT   NOT NULL, -- its subject; empty where the first line of the text is one
    body       TEXT   NOT NULL, -- its text, with placeholders in double braces
    updated_at BIGINT NOT NULL, -- when staff changed it
    PRIMARY KEY (kind, language)
);
