/**
 * The configuration of one process, read once at start from the environment through `schema.ts`. Nothing else reads
 * settings from the environment. Invalid values stop the process with one error that lists all of them.
 */
import { readFileSync } from 'node:fs'
import { hostname as machineName } from 'node:os'
import { environment } from './environment.ts'
import { SETTINGS, type Setting } from './schema.ts'

type Values = { readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

/** All settings in camelCase. An optional setting that is not set is null. */
export type Config = Omit<Values, keyof Derived> & Derived

/** Values that replace or complete settings, derived from other settings. */
interface Derived {
  readonly publicUrl: string
  /** The form of an audience is at `/s/<token>` below this URL. */
  readonly subscribeBaseUrl: string
  /** Scheme and host of tracking and unsubscribe links without a customer's own domain; no trailing slash. */
  readonly trackingUrl: string
  /** Scheme and host of hosted mail; null = it has no host of its own. No trailing slash. */
  readonly hostedMailUrl: string | null
  readonly bounceDomain: string
  /** In every mode, mail to this domain goes to the built-in receiver and is stored for the workspace that sent it. */
  readonly captureDomain: string
  /** The name of this machine or container among those of the installation. */
  readonly nodeName: string
  /** The server's name in EHLO and Message-ID. */
  readonly serverName: string
  readonly keyPrefix: string
  /** Else the prefix that the installation has stored applies (src/auth/key-prefix.ts). */
  readonly isKeyPrefixSet: boolean
  /** Mail takes the whole path, but to the built-in MX instead of the internet. */
  readonly isSandbox: boolean
  /** MODE=live: mail goes to the internet, and what this needs is checked (src/going-live/). */
  readonly isLive: boolean
  /** The host name of an old setting, which would have ended sandbox mode before MODE existed; else null. */
  readonly ignoredHostname: string | null
  /** As ip:port; null = the system's resolvers. In sandbox mode the built-in DNS server. */
  readonly dnsServers: readonly string[] | null
  /** Port of the receiving servers. In sandbox mode the port of the built-in MX. */
  readonly smtpOutPort: number
}

const DEFAULT_KEY_PREFIX = 'ms'
const TWO_MASTER_KEYS =
  'MASTER_KEY_COMMAND and MASTER_KEY (or MASTER_KEY_FILE) are both set: remove one, or empty the file of the key, ' +
  'when the command prints the same keys'

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The text of a setting: the content of `NAME_FILE`, else the variable; null when neither is set. */
function readText(env: NodeJS.ProcessEnv, name: string): string | null {
  const file = env[`${name}_FILE`]
  if (file !== undefined && file !== '' && !name.endsWith('_FILE')) return readFileSync(file, 'utf8').trim()
  const value = env[name]
  return value === undefined || value.trim() === '' ? null : value.trim()
}

/** A name that the internet may know. */
export function isPublicName(hostname: string | null): boolean {
  return (
    hostname !== null &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/i.test(hostname) &&
    !/\.(local|localdomain|internal|localhost|lan)$/i.test(hostname)
  )
}

/**
 * HOSTNAME, unless it is the name of the machine: shells and containers set that without being asked. Read only where
 * DNS_SERVERS or ROUTES say where mail goes and MODE is not set (decision 053).
 */
function ownHostname(env: NodeJS.ProcessEnv): string | null {
  const name = publicNameIn(env)
  const machine = machineName().toLowerCase()
  return name === null || name === machine || name.startsWith(`${machine}.`) ? null : name
}

function publicNameIn(env: NodeJS.ProcessEnv): string | null {
  const name = readText(env, 'HOSTNAME')?.toLowerCase() ?? null
  return isPublicName(name) ? name : null
}

function missingNameText(env: NodeJS.ProcessEnv): string {
  const old = publicNameIn(env)
  const example = old ?? 'mail.example.com'
  const hint = old === null ? '' : '; HOSTNAME is not read any more'
  return `MAILSTEAD_HOSTNAME must be the public name of this server for MODE=live, such as ${example}${hint}`
}

/**
 * Reads and validates all settings.
 * @throws ConfigError that lists every invalid setting, one per line.
 */
export function loadConfig(env: NodeJS.ProcessEnv = environment): Config {
  const values: Record<string, unknown> = {}
  const invalid: string[] = []
  for (const [field, row] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    try {
      const value = readText(env, row.env) ?? row.default
      values[field] = value === null ? null : row.read(value)
    } catch (error) {
      invalid.push(
        error instanceof TypeError
          ? `${row.env} must be ${error.message}`
          : `${row.env}_FILE cannot be read: ${String(error)}`,
      )
    }
  }
  if (values['mode'] === 'live' && !isPublicName(values['hostname'] as Values['hostname']))
    invalid.push(missingNameText(env))
  if (values['acmeChallenge'] === 'dns-01' && values['acmeDnsCommand'] === null)
    invalid.push('ACME_DNS_COMMAND must be the command that publishes TXT records, for ACME_CHALLENGE=dns-01')
  if (values['masterKeyCommand'] !== null) {
    // a package gives each role a file, which may be emptied
    if (values['masterKey'] === '') values['masterKey'] = null
    else if (values['masterKey'] !== null) invalid.push(TWO_MASTER_KEYS)
  }
  if ((values['operatorDkimDomain'] === null) !== (values['operatorDkimKey'] === null))
    invalid.push('OPERATOR_DKIM_DOMAIN and OPERATOR_DKIM_KEY must both be set, or neither')
  if (invalid.length > 0) throw new ConfigError(`invalid configuration:\n  ${invalid.join('\n  ')}`)
  return derive(values as unknown as Values, env)
}

function derive(values: Values, env: NodeJS.ProcessEnv): Config {
  const isRouted = values.dnsServers !== null || values.routes.length > 0
  const isSandbox = values.mode === 'sandbox' || (values.mode === null && !isRouted)
  const hostname = values.hostname ?? (values.mode === null && isRouted ? ownHostname(env) : null)
  const isPublic = isPublicName(hostname) && !isSandbox
  const serverName = isPublic && hostname !== null ? hostname.toLowerCase() : 'mailstead.localhost'
  const publicUrl = values.publicUrl ?? `http://localhost:${values.httpPort}`
  return {
    ...values,
    publicUrl,
    subscribeBaseUrl: values.subscribeBaseUrl ?? publicUrl,
    trackingUrl: new URL(values.trackingUrl ?? publicUrl).origin,
    hostedMailUrl: values.hostedMailUrl === null ? null : new URL(values.hostedMailUrl).origin,
    serverName,
    nodeName: values.nodeName ?? machineName(),
    bounceDomain: (
      values.bounceDomain ?? (isPublic ? `bounces.${serverName}` : 'bounces.mailstead.test')
    ).toLowerCase(),
    captureDomain: (
      values.captureDomain ?? (isPublic ? `capture.${serverName}` : 'capture.mailstead.test')
    ).toLowerCase(),
    keyPrefix: values.keyPrefix ?? DEFAULT_KEY_PREFIX,
    isKeyPrefixSet: values.keyPrefix !== null,
    isSandbox,
    isLive: values.mode === 'live',
    ignoredHostname: values.hostname === null && hostname === null ? publicNameIn(env) : null,
    routes: isSandbox ? [] : values.routes,
    dnsServers: isSandbox ? [`127.0.0.1:${values.sandboxDnsPort}`] : values.dnsServers,
    smtpOutPort: isSandbox ? values.sandboxSmtpPort : values.smtpOutPort,
  }
}
