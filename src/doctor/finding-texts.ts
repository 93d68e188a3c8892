/** What the checks of the doctor that the API shows find, and what to do about it, by code. */
import { textsOf } from '#src/platform/coded-text.ts'

export const DOCTOR_TEXTS = {
  postgres_away: 'PostgreSQL is away',
  redis_away: 'Redis is away',
  redis_embedded: 'the embedded Redis runs only while Mailstead runs',
  late_answer: 'no answer within {seconds} s',
  again_todo: 'run mailstead doctor again; if the check fails again, see the load and the logs of PostgreSQL and Redis',
  more: 'and {count} more',

  backup_unchecked: 'BACKUP_WARNING_HOURS=none: not checked',
  backup_sandbox: 'none; a sandbox needs none',
  backup_missing: 'there is no backup',
  backup_todo: 'mailstead backup makes one: run it each day with a timer',
  backup_last: 'the last one is of {at|time}, {bytes|byte|bytes} in {target}',
  backup_old: 'the last one is of {at|time}, {bytes|byte|bytes} in {target}, {hours|hour|hours} old',
  backup_plain: 'the last one is of {at|time}, {bytes|byte|bytes} in {target}, and not encrypted',
  backup_plain_todo: 'set BACKUP_RECIPIENTS',

  reports_late: '{waiting|report|reports} waiting, the oldest since {oldest|time}',
  reports_late_todo: 'check that the inbound role runs, and read its log',
  bounces_held: 'unusually many hard bounces at {list}: suppressions are on hold',
  bounces_held_todo: 'mailstead bounces held lists them; they end automatically',
  reports_processed: 'all reports are processed',
  postmaster_mails: '{count|mail|mails} to the postmaster in a week: mailstead bounces list --letters',

  clock_behind: 'PostgreSQL is {ms} ms behind',
  clock_ahead: 'PostgreSQL is {ms} ms ahead',
  skew_behind: "the clock of this machine is {amount} {unit} behind PostgreSQL's",
  skew_ahead: "the clock of this machine is {amount} {unit} ahead of PostgreSQL's",
  skew_days_behind: "the clock of this machine is {amount} days behind PostgreSQL's",
  skew_days_ahead: "the clock of this machine is {amount} days ahead of PostgreSQL's",
  clocks_agree: '{count|process agrees|processes agree} with PostgreSQL',
  clock_refused: 'processes there accept and claim no mail',
  clock_todo: 'synchronise the clocks of both machines with NTP',

  zone_unset: 'DKIM_ZONE is not set: owners publish their keys',
  zone_late: '{pending|change|changes} of the zone with DKIM keys not published since {oldest|time}',
  zone_late_why: '{pending|change|changes} of the zone with DKIM keys not published since {oldest|time}: {problem}',
  zone_todo: 'run mailstead domain zone --pending to see them; correct DKIM_ZONE_COMMAND or publish them by hand',
  zone_records: '{records|record|records} in {zone}',
  zone_records_previous: '{records|record|records} in the previous DKIM_ZONE',

  no_source: 'no egress source exists: the system chooses the address',
  sources_todo: 'resume a source, or restore its address; until a source is usable, mail waits',
  default_pool_todo: 'add a source to {pool}: it sends the mail of pools without sources',
  source_gone_todo: 'add {addresses} to a machine that sends, or remove the source',

  hosted_sandbox: 'shown on the host of the API, sandboxed: no mail leaves this machine',
  hosted_shared: `"view in browser" shows customers' HTML on {host}, sandboxed (Content-Security-Policy)`,
  hosted_shared_todo: 'set HOSTED_MAIL_URL to a host name of its own, best in another registered domain',
  hosted_used: 'HOSTED_MAIL_URL has the host of {settings} ({host}): hosted mail has no origin of its own',
  hosted_used_todo: 'set HOSTED_MAIL_URL to a host name that nothing else uses',
  hosted_own: 'shown on {host}, which serves nothing else',

  no_mail_leaves: 'no mail leaves a sandbox',
  no_mail_leaves_machine: 'no mail leaves this machine',
  not_checked: 'not checked',
  campaigns_held: 'campaigns are held back until it is fixed',

  node_old: '{version} is too old',
  node_todo: 'start Mailstead with bin/mailstead, which installs Node {version}',
  mode_sandbox: 'sandbox: no mail leaves this machine',
  mode_sandbox_todo: 'to send mail to the internet, set MODE=live and MAILSTEAD_HOSTNAME={name}',
  mode_live: 'live: mail leaves this machine as {name}',
  mode_unset: 'MODE is not set: mail goes where DNS_SERVERS or ROUTES say, as {name}',
  mode_unset_todo: 'set MODE=live and MAILSTEAD_HOSTNAME to the public name of this server, or MODE=sandbox',
  disk_unknown: 'the free disk space is unknown',
  disk_free: '{gigabytes} GB free in {folder}',
  disk_todo: 'free disk space, or set DATA_DIR to a larger disk',

  dns_sandbox: 'the sandbox has its own DNS server',
  dns_unset: 'no server is configured',
  dns_silent: 'no answer from {servers}',
  dns_todo: 'check DNS_SERVERS, or the resolvers of the system (/etc/resolv.conf)',

  no_notices: 'no open notices',
  notices_todo: 'mailstead notices lists all; mailstead notices ack ID acknowledges one',

  http_closed: 'port {port} is not open at a public address of this machine',
  http_open: 'port {port} is open at {addresses}: keys and passwords sent to it are not encrypted',
  http_todo:
    'let it listen on 127.0.0.1 only (HTTP_HOST; HTTPS_HOST is that of HTTPS_PORT; or ListenStream= of ' +
    'mailstead-api.socket), or close it in the firewall',

  queue_in_time: 'no mail is late',
  queue_seconds: '{tier} mail has been due for {seconds} s',
  queue_minutes: '{tier} mail has been due for {minutes|minute|minutes}',
  queue_hours: '{tier} mail has been due for {hours|hour|hours}',
  queue_todo: 'mailstead queue status shows what holds it; mailstead explain ID shows why for one message',

  nothing_stored: 'no messages are stored',
  oldest_partition: 'the oldest partition of messages begins {date}',
  overdue: '{what} should have been deleted {days|day|days} ago',
  overdue_todo: 'check that a worker runs, and its log; mailstead retention list shows all',

  redis_unreachable: 'cannot be reached ({problem})',
  redis_unreachable_todo: 'check that it runs, and REDIS_URL; npm start runs one without it',
  version: 'version {version}',
  aof: 'append-only file',
  aof_missing: 'no append-only file: after a restart the schedule is rebuilt from PostgreSQL',
  aof_missing_todo: 'set appendonly yes for faster restarts',

  no_verified_domain: 'no domain is verified by its DNS records',
  return_path_own: 'every verified domain has its own return-path (MAIL FROM)',
  return_path_missing:
    'of {verified|verified domain|verified domains}, {lacking} without a return-path of its own (MAIL FROM): {list}',
  return_path_todo:
    'recommended: publish the MX and TXT records of {names} (mailstead domain verify DOMAIN says what is missing), ' +
    'so that SPF passes for the domain in From',

  sender_dmarc: '{checked|sending domain|sending domains} with a valid DMARC record',
  sender_dmarc_missing: '{lacking} of {checked|sending domain|sending domains} without a valid DMARC record',
  sender_dmarc_todo:
    'publish _dmarc.DOMAIN TXT "v=DMARC1; p=none; rua=mailto:{address}" in the zone of each, and a stricter policy ' +
    'later; then run mailstead domain verify DOMAIN',

  postgres_todo: 'check that it runs, and DATABASE_URL; npm start runs one without it',
  postgres_old: 'version {version} is too old',
  postgres_old_todo: 'use PostgreSQL 15 or newer',
  postgres_fsync: 'version {version}, and fsync is off: a power failure loses accepted mail',
  postgres_fsync_todo: 'set fsync = on',
  connections: '{used} in use, {most} allowed',
  connections_todo: 'set max_connections of PostgreSQL to 200 and restart it; each process of Mailstead may open 20',
  migrations_removed: 'a later version has removed what this one needs ({names})',
  migrations_removed_todo: 'run the later program',
  migrations_pending: 'pending: {names}',
  migrations_todo: 'run mailstead upgrade',
  migrations_later_todo: 'run mailstead upgrade when no earlier version runs any more',
  migrations_newer: 'the database is newer than this program ({names})',
  migrations_newer_todo: 'run the newer program',
  migrations_applied: '{count} of {all}',

  all_suspended: 'all mail is suspended: {reason}',
  all_suspended_todo: "mailstead queue resume '*' resumes it",
  none_suspended: 'no mail is suspended',
  suspended: 'suspended: {list}',
  suspended_todo: 'mailstead queue status lists all; mailstead queue resume ends a suspension',
} as const

export const doctorText = textsOf('doctor', DOCTOR_TEXTS)
