CREATE TABLE account (
	id INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	role VARCHAR(10) NOT NULL, 
	is_active BOOLEAN DEFAULT 1 NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_account PRIMARY KEY (id), 
	CONSTRAINT ck_account_role CHECK (role IN ('researcher', 'steward', 'admin')), 
	CONSTRAINT uq_account_name UNIQUE (name)
);
CREATE TABLE answer (
	version INTEGER NOT NULL, 
	"query" VARCHAR(64) NOT NULL, 
	content TEXT NOT NULL, 
	user VARCHAR(200) NOT NULL, 
	analysis VARCHAR(200) NOT NULL, 
	epsilon BIGINT NOT NULL, 
	asked VARCHAR(32) NOT NULL, 
	released TEXT, 
	CONSTRAINT pk_answer PRIMARY KEY (version, "query"), 
	CONSTRAINT ck_answer_epsilon CHECK (epsilon > 0), 
	CONSTRAINT ck_answer_epsilon_whole CHECK (typeof(epsilon) = 'integer'), 
	CONSTRAINT fk_answer_version FOREIGN KEY(version) REFERENCES version (id)
);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at VARCHAR(32) NOT NULL, 
	actor VARCHAR(200) NOT NULL, 
	action VARCHAR(40) NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	details TEXT NOT NULL, 
	previous VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id), 
	CONSTRAINT ck_audit_hash CHECK (length(hash) = 64)
);
CREATE TABLE budget (
	dataset VARCHAR(200) NOT NULL, 
	scope VARCHAR(8) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	cap BIGINT NOT NULL, 
	spent BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_budget PRIMARY KEY (dataset, scope, name), 
	CONSTRAINT ck_budget_scope CHECK (scope IN ('global', 'user', 'analysis')), 
	CONSTRAINT ck_budget_cap CHECK (cap > 0), 
	CONSTRAINT ck_budget_spent CHECK (spent >= 0 AND spent <= cap), 
	CONSTRAINT ck_budget_cap_whole CHECK (typeof(cap) = 'integer'), 
	CONSTRAINT ck_budget_spent_whole CHECK (typeof(spent) = 'integer'), 
	CONSTRAINT fk_budget_dataset FOREIGN KEY(dataset) REFERENCES dataset (name)
);
CREATE TABLE dataset (
	name VARCHAR(200) NOT NULL, 
	user_cap BIGINT NOT NULL, 
	analysis_cap BIGINT NOT NULL, 
	is_paused BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT pk_dataset PRIMARY KEY (name)
);
CREATE TABLE dry_run (
	dataset VARCHAR(200) NOT NULL, 
	"query" VARCHAR(64) NOT NULL, 
	content TEXT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	charge BIGINT, 
	problems JSON, 
	result JSON, 
	page TEXT, 
	chosen VARCHAR(64), 
	chosen_content TEXT, 
	outlook VARCHAR(10), 
	words JSON, 
	limits VARCHAR(64), 
	account INTEGER NOT NULL, 
	asked VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_dry_run PRIMARY KEY (dataset, "query"), 
	CONSTRAINT ck_dry_run_state CHECK (state IN ('waiting', 'running', 'done', 'refused')), 
	CONSTRAINT ck_dry_run_outlook CHECK (outlook IN ('decided', 'open', 'impossible')), 
	CONSTRAINT fk_dry_run_dataset FOREIGN KEY(dataset) REFERENCES dataset (name), 
	CONSTRAINT fk_dry_run_account FOREIGN KEY(account) REFERENCES account (id)
);
CREATE INDEX ix_audit_action ON audit (action);
CREATE INDEX ix_dry_run_account ON dry_run (account);
CREATE INDEX ix_dry_run_state ON dry_run (state);
CREATE INDEX ix_job_state ON job (state);
CREATE INDEX ix_person_request_account ON person_request (account);
CREATE INDEX ix_person_request_state ON person_request (state);
CREATE INDEX ix_session_token ON session (token);
CREATE INDEX ix_submission_account ON submission (account);
CREATE INDEX ix_submission_dataset_query ON submission (dataset, "query");
CREATE INDEX ix_token_account ON token (account);
CREATE TABLE job (
	version INTEGER NOT NULL, 
	"query" VARCHAR(64) NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	lane INTEGER NOT NULL, 
	begins VARCHAR(32) NOT NULL, 
	due VARCHAR(32) NOT NULL, 
	limits VARCHAR(64) NOT NULL, 
	result JSON, 
	page TEXT, 
	CONSTRAINT pk_job PRIMARY KEY (version, "query"), 
	CONSTRAINT fk_job_version_query FOREIGN KEY(version, "query") REFERENCES answer (version, "query"), 
	CONSTRAINT ck_job_state CHECK (state IN ('queued', 'running', 'computed'))
);
CREATE TABLE member (
	project VARCHAR(200) NOT NULL, 
	account INTEGER NOT NULL, 
	CONSTRAINT pk_member PRIMARY KEY (project, account), 
	CONSTRAINT fk_member_project FOREIGN KEY(project) REFERENCES project (name), 
	CONSTRAINT fk_member_account FOREIGN KEY(account) REFERENCES account (id)
);
CREATE TRIGGER no_change_of_audit BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER no_end_of_answer BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER no_end_of_audit BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'append only'); END;
CREATE TRIGGER no_end_of_budget BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER no_end_of_dataset BEFORE DELETE ON dataset BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER no_end_of_version BEFORE DELETE ON version BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER no_refund BEFORE UPDATE OF spent ON budget WHEN (new.spent < old.spent) BEGIN SELECT RAISE(ABORT, 'no refund'); END;
CREATE TRIGGER one_answer BEFORE UPDATE OF released ON answer WHEN (old.released IS NOT NULL) BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER one_budget BEFORE UPDATE OF dataset, scope, name ON budget BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER one_key BEFORE UPDATE ON version BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TRIGGER one_question BEFORE UPDATE OF version, query, content, "user", analysis, epsilon, asked ON answer BEGIN SELECT RAISE(ABORT, 'kept'); END;
CREATE TABLE person_request (
	id VARCHAR(32) NOT NULL, 
	account INTEGER NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	"query" VARCHAR(64) NOT NULL, 
	reason TEXT NOT NULL, 
	code TEXT NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	reply TEXT DEFAULT '' NOT NULL, 
	steward VARCHAR(200), 
	made VARCHAR(32) NOT NULL, 
	closed VARCHAR(32), 
	CONSTRAINT pk_person_request PRIMARY KEY (id), 
	CONSTRAINT ck_person_request_state CHECK (state IN ('open', 'answered', 'refused', 'released', 'withdrawn')), 
	CONSTRAINT fk_person_request_account FOREIGN KEY(account) REFERENCES account (id), 
	CONSTRAINT fk_person_request_dataset FOREIGN KEY(dataset) REFERENCES dataset (name)
);
CREATE TABLE project (
	name VARCHAR(200) NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	questions INTEGER NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_project PRIMARY KEY (name), 
	CONSTRAINT ck_project_questions CHECK (questions > 0), 
	CONSTRAINT fk_project_dataset FOREIGN KEY(dataset) REFERENCES dataset (name)
);
CREATE TABLE session (
	digest VARCHAR(64) NOT NULL, 
	token INTEGER NOT NULL, 
	expires VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_session PRIMARY KEY (digest), 
	CONSTRAINT fk_session_token FOREIGN KEY(token) REFERENCES token (id)
);
CREATE TABLE submission (
	id VARCHAR(32) NOT NULL, 
	account INTEGER NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	version INTEGER NOT NULL, 
	"query" VARCHAR(64) NOT NULL, 
	chosen VARCHAR(64), 
	project VARCHAR(200) NOT NULL, 
	state VARCHAR(10) NOT NULL, 
	problems JSON, 
	charged BIGINT DEFAULT '0' NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	shown VARCHAR(32), 
	CONSTRAINT pk_submission PRIMARY KEY (id), 
	CONSTRAINT ck_submission_state CHECK (state IN ('checking', 'accepted', 'refused')), 
	CONSTRAINT ck_submission_charged CHECK (charged >= 0), 
	CONSTRAINT fk_submission_account FOREIGN KEY(account) REFERENCES account (id), 
	CONSTRAINT fk_submission_dataset FOREIGN KEY(dataset) REFERENCES dataset (name), 
	CONSTRAINT fk_submission_version FOREIGN KEY(version) REFERENCES version (id), 
	CONSTRAINT fk_submission_project FOREIGN KEY(project) REFERENCES project (name)
);
CREATE TABLE token (
	id INTEGER NOT NULL, 
	account INTEGER NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	label VARCHAR(200) NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	expires VARCHAR(32) NOT NULL, 
	revoked VARCHAR(32), 
	CONSTRAINT pk_token PRIMARY KEY (id), 
	CONSTRAINT fk_token_account FOREIGN KEY(account) REFERENCES account (id), 
	CONSTRAINT uq_token_digest UNIQUE (digest)
);
CREATE TABLE verification_server (
	version INTEGER NOT NULL, 
	CONSTRAINT pk_verification_server PRIMARY KEY (version)
);
CREATE TABLE version (
	id INTEGER NOT NULL, 
	dataset VARCHAR(200) NOT NULL, 
	data VARCHAR(64) NOT NULL, 
	"key" BLOB NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	CONSTRAINT pk_version PRIMARY KEY (id), 
	CONSTRAINT ck_version_data CHECK (length(data) = 64), 
	CONSTRAINT ck_version_key CHECK (length(key) = 32), 
	CONSTRAINT uq_version_dataset_data UNIQUE (dataset, data), 
	CONSTRAINT fk_version_dataset FOREIGN KEY(dataset) REFERENCES dataset (name)
);
-- version 1
