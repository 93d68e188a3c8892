/**
 * The configuration of one process, read once at its start from the environment through `schema.ts`.
 * Wrong values stop the process with one error that names all of them; nothing later reads the environment.
 */
import { readFileSync } from 'node:fs'
import { SETTINGS, type Setting } from './schema.ts'

type Values = { readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

/** All settings in camelCase; those that are optional in the table are null when not given. */
export type Config = Omit<Values, keyof Derived> & Derived

/** What follows from other settings. */
interface Derived {
  readonly publicUrl: string
  /** The form of an audience is at `/s/<token>` below it. */
  readonly subscribeBaseUrl: string
  /** Scheme and host of tracking and unsubscribe links that have no name of a customer in them; no slash at the end. */
  readonly trackingUrl: string
  readonly bounceDomain: string
  /** Mail to it goes to the built-in receiver in any mode, and is kept for the workspace that sent it. */
  readonly captureDomain: string
  /** The name we say in EHLO and put into Message-ID. */
  readonly serverName: string
  /** Mail goes through the whole path to the built-in MX instead of the internet. */
  readonly isSandbox: boolean
  /** ip:port; null = those of the system. The built-in one in sandbox mode. */
  readonly dnsServers: readonly string[] | null
  /** Port of the receiving servers. That of the built-in MX in sandbox mode. */
  readonly smtpOutPort: number
}

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

function given(env: NodeJS.ProcessEnv, name: string): string | null {
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
 * Reads and checks all settings.
 * @throws ConfigError that lists every setting that is wrong, one per line.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const values: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [field, row] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    try {
      const value = given(env, row.env) ?? row.default
      values[field] = value === null ? null : row.read(value)
    } catch (error) {
      wrong.push(
        error instanceof TypeError
          ? `${row.env} must be ${error.message}`
          : `${row.env}_FILE cannot be read: ${String(error)}`,
      )
    }
  }
  if (wrong.length > 0) throw new ConfigError(`the configuration is wrong:\n  ${wrong.join('\n  ')}`)
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
