-- +goose Up

-- Backups that are to go and are still on their panels.
CREATE INDEX backups_deleted ON backups (id) WHERE status = 'deleted';

-- The newest restore of each backup of a service, which lists show.
CREATE INDEX backups_restores_service ON backups_restores (service_id, backup_id, id);
