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
