-- +goose Up

-- The browser's session in which one of Stead's own applications was authorized: such a grant ends with it, since it was
-- asked for unseen. NULL for the applications of others, whose grants a person sees and ends by themselves.
ALTER TABLE oauth_grants ADD COLUMN session_id BIGINT;
