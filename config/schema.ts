/**
 * Every setting of Mailstead, one row each: environment name, how it is read, default, unit and why one would change it.
 * `load.ts` reads the environment through this table; `docs/settings.md` is printed from it. A new setting is one row here.
 * `NAME_FILE` works for every row: the value is then the trimmed content of that file (for mounted secrets).
 */
import { BLOCKLISTS } from './blocklists.ts'
import {
  choice,
  cidrs,
  count,
  counts,
  dataDir,
  decimal,
  dnsServers,
  letters,
  namesOrNone,
  port,
  proxies,
  relays,
  routes,
  seconds,
  text,
  token,
  url,
  urlOrNone,
  type Reader,
} from './read.ts'

export interface Setting<T> {
  readonly env: string
  readonly read: Reader<T>
  /** As it would be written in the environment; null = not set. */
  readonly default: string | null
  readonly unit?: string
  readonly reason: string
}

/** A setting that always has a value. */
function setting<T>(row: Setting<T> & { readonly default: string }): Setting<T> {
  return row
}

/** A setting that is null when it is not given. */
function optional<T>(row: Omit<Setting<T>, 'default'>): Setting<T | null> {
  return { ...row, default: null }
}

export const SETTINGS = {
  databaseUrl: optional({
    env: 'DATABASE_URL',
    read: text,
    reason: 'your own PostgreSQL 15 or newer, with max_connections of 200 or more; without it one is embedded',
  }),
  redisUrl: optional({
    env: 'REDIS_URL',
    read: text,
    reason: 'your own Redis 6.2 or newer (redis://, rediss://, unix:///path); without it one is started',
  }),
  dataDir: setting({
    env: 'DATA_DIR',
    read: dataDir,
    default: 'data',
    reason: 'embedded stores, generated keys, logs; relative to the project',
  }),
  httpPort: setting({ env: 'HTTP_PORT', read: port, default: '3000', reason: 'the REST API and pages' }),
  httpHost: optional({ env: 'HTTP_HOST', read: text, reason: 'the address to listen on; all addresses when not set' }),
  publicUrl: optional({
    env: 'PUBLIC_URL',
    read: url,
    reason: 'how clients reach the API; http://localhost:HTTP_PORT when not set',
  }),
  subscribeBaseUrl: optional({
    env: 'SUBSCRIBE_BASE_URL',
    read: url,
    reason: 'where the public subscribe forms (/s/…) are reached; PUBLIC_URL when not set',
  }),
  trackingUrl: optional({
    env: 'TRACKING_URL',
    read: url,
    reason:
      "scheme and host in tracking and unsubscribe links, and what customers' own tracking names lead to (docs/tracking.md); PUBLIC_URL when not set",
  }),
  trustProxy: setting({
    env: 'TRUST_PROXY',
    read: proxies,
    default: 'false',
    reason:
      'whose X-Forwarded-For is believed: true for one proxy in front, a number for that many, or the networks they are in (docs/security.md)',
  }),
  subscribesPerNetwork: setting({
    env: 'SUBSCRIBES_PER_NETWORK',
    read: count,
    default: '60',
    unit: 'in 10 minutes',
    reason: 'posts to public forms from one IPv4 address or IPv6 /64; more where a site posts for its visitors',
  }),
  hostname: optional({
    env: 'HOSTNAME',
    read: text,
    reason: 'this server in EHLO and Message-ID; a public name ends sandbox mode',
  }),
  keyPrefix: setting({
    env: 'KEY_PREFIX',
    read: letters,
    default: 'ms',
    reason: 'the letters in front of every API key',
  }),
  defaultPlan: setting({
    env: 'DEFAULT_PLAN',
    read: choice('free', 'launch', 'custom', 'enterprise'),
    default: 'free',
    reason: 'plan of a new workspace',
  }),
  masterKey: optional({
    env: 'MASTER_KEY',
    read: text,
    reason:
      '32 bytes in hex or base64 that seal keys and secrets; generated into DATA_DIR when not set, must be the same on every machine',
  }),
  adminToken: optional({
    env: 'ADMIN_TOKEN',
    read: token,
    reason:
      "opens the operator's endpoints (docs/operating.md), as it is or as sha256:<hash in hex>; generated into DATA_DIR when not set, must be the same on every machine with an api",
  }),
  bounceDomain: optional({
    env: 'BOUNCE_DOMAIN',
    read: text,
    reason: 'domain of the return-path; bounces.HOSTNAME when not set',
  }),
  captureDomain: optional({
    env: 'CAPTURE_DOMAIN',
    read: text,
    reason:
      'domain whose mail is kept for the workspace that sent it and never leaves (docs/sandbox.md); capture.HOSTNAME when not set',
  }),
  submissionPort: setting({
    env: 'SUBMISSION_PORT',
    read: port,
    default: '587',
    reason:
      'where programs hand mail in, with STARTTLS (docs/submission.md); 2587 where this user may not have a port below 1024',
  }),
  submissionTlsPort: setting({
    env: 'SUBMISSION_TLS_PORT',
    read: port,
    default: '465',
    reason: 'the same with TLS from the first byte; 2465 where this user may not have a port below 1024',
  }),
  submissionAltPort: setting({
    env: 'SUBMISSION_ALT_PORT',
    read: port,
    default: '2525',
    reason: 'the same as SUBMISSION_PORT, for networks that block that one',
  }),
  submissionConnections: setting({
    env: 'SUBMISSION_CONNECTIONS',
    read: count,
    default: '2000',
    reason: 'connections to the submission ports of one process; one network gets a fifth of them',
  }),
  submissionPlainLogin: setting({
    env: 'SUBMISSION_PLAIN_LOGIN',
    read: choice('loopback', 'anywhere'),
    default: 'loopback',
    reason: 'where from one may log in without TLS; anywhere lets keys be read on the way',
  }),
  submissionPerKey: setting({
    env: 'SUBMISSION_PER_KEY',
    read: count,
    default: '1000',
    unit: 'messages/s',
    reason: 'most that one key may hand in by SMTP, averaged over 10 s; the plan of its workspace limits it too',
  }),
  submissionPerNetwork: setting({
    env: 'SUBMISSION_PER_NETWORK',
    read: count,
    default: '1000',
    unit: 'messages/s',
    reason: 'the same for one IPv4 address or IPv6 /64; none for our own machine and for RELAY_NETWORKS',
  }),
  relayNetworks: setting({
    env: 'RELAY_NETWORKS',
    read: relays,
    default: '',
    reason: 'who may hand mail in without logging in: network=workspace,… with the id or name of the workspace',
  }),
  inboundPort: setting({
    env: 'INBOUND_PORT',
    read: port,
    default: '25',
    reason:
      'where bounces and complaints come in (docs/bounces.md); 2526 where this user may not have a port below 1024',
  }),
  inboundConnections: setting({
    env: 'INBOUND_CONNECTIONS',
    read: count,
    default: '1000',
    reason: 'connections to the inbound port of one process; one network gets a fifth of them',
  }),
  tlsCertFile: optional({
    env: 'TLS_CERT_FILE',
    read: text,
    reason: 'the certificate of our SMTP servers, PEM with its chain; self-signed when not set',
  }),
  tlsKeyFile: optional({ env: 'TLS_KEY_FILE', read: text, reason: 'its private key, PEM' }),
  extraCaFile: optional({ env: 'EXTRA_CA_FILE', read: text, reason: 'further certificate authorities to trust, PEM' }),
  dnsServers: optional({
    env: 'DNS_SERVERS',
    read: dnsServers,
    reason: 'resolvers as ip:port,ip:port; those of the system when not set',
  }),
  dnssecResolver: setting({
    env: 'DNSSEC_RESOLVER',
    read: choice('yes', 'no'),
    default: 'no',
    reason:
      'yes when DNS_SERVERS (or those of the system) validate DNSSEC and the way to them is safe, such as one on this machine: their word is then believed, and DANE is done (docs/transport-security.md)',
  }),
  mtaStsPort: setting({
    env: 'MTA_STS_PORT',
    read: port,
    default: '443',
    reason: 'where MTA-STS policies are fetched; another one only where a test stands in for the world',
  }),
  tlsReportFrom: optional({
    env: 'TLS_REPORT_FROM',
    read: text,
    reason:
      'an address of a verified sending domain that TLS reports to other domains come from (RFC 8460); none are made when not set',
  }),
  rdapUrl: setting({
    env: 'RDAP_URL',
    read: urlOrNone,
    default: 'https://rdap.org/domain',
    reason: 'where the registrar of a sending domain is looked up, the domain is appended; none = not at all',
  }),
  dnsMxCacheSeconds: setting({
    env: 'DNS_MX_CACHE_SECONDS',
    read: seconds,
    default: '300',
    unit: 's',
    reason:
      'how long MX records are kept: the resolver interface tells no TTL for them (addresses are kept for theirs)',
  }),
  smtpOutPort: setting({ env: 'SMTP_OUT_PORT', read: port, default: '25', reason: 'port of the receiving servers' }),
  sandboxDnsPort: setting({
    env: 'SANDBOX_DNS_PORT',
    read: port,
    default: '2553',
    reason:
      'loopback port of the built-in DNS server, which the built-in receiver asks; it takes the place of DNS_SERVERS in sandbox mode',
  }),
  sandboxSmtpPort: setting({
    env: 'SANDBOX_SMTP_PORT',
    read: port,
    default: '2552',
    reason:
      'loopback port of the built-in receiver: of CAPTURE_DOMAIN, and in sandbox mode, in the place of SMTP_OUT_PORT, of all mail',
  }),
  warmUp: setting({
    env: 'WARM_UP',
    read: counts,
    default: '50,100,200,400,800,1600,3200,6400,12800,25600',
    unit: 'mails a day',
    reason: 'what a warming source may send to one receiver, step by step; after the last it is free (docs/egress.md)',
  }),
  egressCheckTarget: setting({
    env: 'EGRESS_CHECK_TARGET',
    read: text,
    default: 'gmail.com',
    reason: 'a domain whose MX, or a host or address, that tells whether a source reaches port 25; none = not asked',
  }),
  blocklists: setting({
    env: 'BLOCKLISTS',
    read: namesOrNone,
    default: BLOCKLISTS.map(({ zone }) => zone).join(','),
    reason: 'DNS blocklists that are asked for our sources; none = not at all',
  }),
  routes: setting({
    env: 'ROUTES',
    read: routes,
    default: '',
    reason: 'transport map: domain=smtp://host:port,… with * for all other domains',
  }),
  allowPrivateTargets: setting({
    env: 'ALLOW_PRIVATE_TARGETS',
    read: cidrs,
    default: '',
    reason: 'networks that webhooks and MX may reach although private or loopback',
  }),
  retryScale: setting({
    env: 'RETRY_SCALE',
    read: decimal,
    default: '1',
    unit: 'factor',
    reason: 'multiplies every retry time',
  }),
  leaseSeconds: setting({
    env: 'LEASE_SECONDS',
    read: seconds,
    default: '60',
    unit: 's',
    reason: 'how long a silent outbound process keeps its mail',
  }),
  reconcileSeconds: setting({
    env: 'RECONCILE_SECONDS',
    read: seconds,
    default: '15',
    unit: 's',
    reason: 'how often PostgreSQL is compared with the schedule in Redis',
  }),
  messageLifetimeSeconds: optional({
    env: 'MESSAGE_LIFETIME_SECONDS',
    read: seconds,
    unit: 's',
    reason: 'gives up on a recipient after this; per tier when not set',
  }),
  dotTimeoutSeconds: setting({
    env: 'DOT_TIMEOUT_SECONDS',
    read: seconds,
    default: '600',
    unit: 's',
    reason: 'wait for the reply after the final dot (RFC 5321 4.5.3.2.6)',
  }),
  maxMessageBytes: setting({
    env: 'MAX_MESSAGE_BYTES',
    read: count,
    default: '26214400',
    unit: 'bytes',
    reason: 'one message after decoding',
  }),
  maxImportBytes: setting({
    env: 'MAX_IMPORT_BYTES',
    read: count,
    default: '268435456',
    unit: 'bytes',
    reason: 'one file of contacts; a million rows take about 100 MB, and it must arrive within five minutes',
  }),
  maxRecipients: setting({ env: 'MAX_RECIPIENTS', read: count, default: '50', reason: 'recipients of one message' }),
  outboundSessions: setting({
    env: 'OUTBOUND_SESSIONS',
    read: count,
    default: '500',
    reason: 'SMTP connections of one outbound process',
  }),
  workspacePauses: setting({
    env: 'WORKSPACE_PAUSES',
    read: choice('on', 'off'),
    default: 'on',
    reason: 'stop the mail of a workspace whose rates are bad, until `mailstead workspace resume` (docs/shaping.md)',
  }),
  pauseBounceShare: setting({
    env: 'PAUSE_BOUNCE_SHARE',
    read: decimal,
    default: '0.1',
    reason: 'of its mails, more than this went to addresses that do not exist: stopped',
  }),
  pauseComplaintShare: setting({
    env: 'PAUSE_COMPLAINT_SHARE',
    read: decimal,
    default: '0.005',
    reason: 'of its delivered mails, more than this were complained about: stopped',
  }),
  pauseMinimum: setting({
    env: 'PAUSE_MINIMUM',
    read: count,
    default: '1000',
    reason: 'mails in the window below which rates say nothing',
  }),
  pauseWindowSeconds: setting({
    env: 'PAUSE_WINDOW_SECONDS',
    read: seconds,
    default: '86400',
    unit: 's',
    reason: 'how far back rates are looked at, by whole hours',
  }),
  shapingFile: optional({
    env: 'SHAPING_FILE',
    read: text,
    reason: 'your own shaping file instead of config/shaping.yaml (docs/shaping.md); it is read again when it changes',
  }),
  machinesFile: optional({
    env: 'MACHINES_FILE',
    read: text,
    reason:
      'your own names and networks of programs that open mails and follow links, instead of config/machines.yaml (docs/tracking.md)',
  }),
  oauthProvidersFile: optional({
    env: 'OAUTH_PROVIDERS_FILE',
    read: text,
    reason:
      'JSON with client ids of Google, Microsoft or other OAuth servers whose mailboxes may be connected (docs/connected-accounts.md)',
  }),
  plansFile: optional({
    env: 'PLANS_FILE',
    read: text,
    reason: 'JSON that replaces or adds plans (config/plans.ts shows the shape)',
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    read: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    reason: 'JSON lines on stdout',
  }),
} as const
