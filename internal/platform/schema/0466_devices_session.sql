-- +goose Up

-- the session in which a browser registered itself, which it is forgotten with; 0 of other applications
ALTER TABLE devices ADD COLUMN session_id BIGINT NOT NULL DEFAULT 0;
