-- +goose Up

-- The site templates that staff do not offer. What was made of one stays.
CREATE TABLE templates_hidden (
    template_id BIGINT PRIMARY KEY -- the template, by its id in the library
);
