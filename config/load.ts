/**
 * The configuration of one process, read once at start from the environment through `schema.ts`. Nothing else reads
 * settings from the environment. Invalid values stop the process with one error that lists all of them.
 */
import { readFileSync } from 'node:fs'
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
  readonly bounceDomain: string
  /** In every mode, mail to this domain goes to the built-in receiver and is stored for the workspace that sent it. */
  readonly captureDomain: string
  /** The server's name in EHLO and Message-ID. */
  readonly serverName: string
  /** Mail takes the whole path, but to the built-in MX instead of the internet. */
  readonly isSandbox: boolean
  /** As ip:port; null = the system's resolvers. In sandbox mode the built-in DNS server. */
  readonly dnsServers: readonly string[] | null
  /** Port of the receiving servers. In sandbox mode the port of the built-in MX. */
  readonly smtpOutPort: number
}

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

function isPublicName(hostname: string | null): boolean {
  return (
    hostname !== null &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/i.test(hostname) &&
    !/\.(local|localdomain|internal|localhost|lan)$/i.test(hostname)
  )
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
  if (invalid.length > 0) throw new ConfigError(`invalid configuration:\n  ${invalid.join('\n  ')}`)
  return derive(values as unknown as Values)
}

function derive(values: Values): Config {
  const isPublic = isPublicName(values.hostname)
  const serverName = isPublic && values.hostname !== null ? values.hostname.toLowerCase() : 'mailstead.localhost'
  const isSandbox = !isPublic && values.dnsServers === null && values.routes.length === 0
  const publicUrl = values.publicUrl ?? `http://localhost:${values.httpPort}`
  return {
    ...values,
    publicUrl,
    subscribeBaseUrl: values.subscribeBaseUrl ?? publicUrl,
    trackingUrl: new URL(values.trackingUrl ?? publicUrl).origin,
    serverName,
    bounceDomain: (
      values.bounceDomain ?? (isPublic ? `bounces.${serverName}` : 'bounces.mailstead.test')
    ).toLowerCase(),
    captureDomain: (
      values.captureDomain ?? (isPublic ? `capture.${serverName}` : 'capture.mailstead.test')
    ).toLowerCase(),
    isSandbox,
    dnsServers: isSandbox ? [`127.0.0.1:${values.sandboxDnsPort}`] : values.dnsServers,
    smtpOutPort: isSandbox ? values.sandboxSmtpPort : values.smtpOutPort,
  }
}
