/**
 * Readers: one function for each kind of setting, from text to value. A reader returns the value, or throws a
 * TypeError whose message completes the sentence "NAME must be …".
 */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

export type Reader<T> = (value: string) => T
export type Network = [IPv4 | IPv6, number]
/** One row of the transport map. `domain` is `*` for all domains without a row of their own. */
export interface RouteRule {
  readonly domain: string
  readonly host: string
  readonly port: number
}

const ROOT = resolve(import.meta.dirname, '../..')

function list(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function expected(description: string): never {
  throw new TypeError(description)
}

export const text: Reader<string> = (value) => value

/** Existing API clients accept only key prefixes of lower-case letters. */
export const lowerCaseLetters: Reader<string> = (value) =>
  /^[a-z]{1,32}$/.test(value) ? value : expected('1 to 32 lower-case letters')

/** A secret that requests are compared with; the minimum length makes guessing hopeless. */
export const token: Reader<string> = (value) =>
  /^[\x21-\x7e]{32,512}$/.test(value)
    ? value
    : expected('at least 32 printable ASCII characters without spaces, or sha256:<hash in hex>')

/** A key that cannot be guessed by trying. */
export const longKey: Reader<string> = (value) => {
  if (value.length < 16) throw new TypeError('at least 16 characters long')
  return value
}

export const dataDir: Reader<string> = (value) => resolve(ROOT, value)

export const port: Reader<number> = (value) => {
  const number = Number(value)
  return /^\d+$/.test(value) && number <= 65_535 ? number : expected('a port between 0 and 65535')
}

export const count: Reader<number> = (value) => {
  const number = Number(value)
  return /^\d+$/.test(value) && number >= 1 && Number.isSafeInteger(number)
    ? number
    : expected('a whole number of 1 or more')
}

/** A hundred years: PostgreSQL can compute the date. */
const MAX_DAYS = 36_500

/** A period of at least so many days. */
export function days(least: number): Reader<number> {
  return (value) => {
    const number = Number(value)
    return /^\d+$/.test(value) && number >= least && number <= MAX_DAYS
      ? number
      : expected(`a whole number of days from ${least} to ${MAX_DAYS}`)
  }
}

/** A whole number of 1 or more, or `none` to switch the feature off. */
export const countOrNone: Reader<number | null> = (value) => (value.toLowerCase() === 'none' ? null : count(value))

/** More would take a phone minutes. */
const MAX_CHALLENGE_BITS = 26

export const challengeBits: Reader<number> = (value) => {
  const bits = Number(value)
  return /^\d+$/.test(value) && bits <= MAX_CHALLENGE_BITS
    ? bits
    : expected(`a whole number from 0 to ${MAX_CHALLENGE_BITS}`)
}

/** 0 switches the feature off. */
export const countOrZero: Reader<number> = (value) => (value === '0' ? 0 : count(value))

/** A DNS name of at least two labels, without a final dot. */
export const dnsName: Reader<string> = (value) => {
  const name = value.toLowerCase().replace(/\.$/, '')
  return /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$/.test(name) && name.length <= 150
    ? name
    : expected('a DNS name such as dkim.mail.example.net')
}

/** A time that other limits depend on. */
export function secondsUpTo(most: number): Reader<number> {
  return (value) => {
    const number = Number(value)
    return value !== '' && number > 0 && number <= most
      ? number
      : expected(`a number of seconds above 0, at most ${most}`)
  }
}

export interface SpamFilterAddress {
  readonly kind: 'spamd' | 'rspamd'
  readonly host: string
  readonly port: number
  /** Of a socket of the machine, in place of host and port. */
  readonly path: string | null
}

const FILTER_PORTS = { spamd: 783, rspamd: 11_333 }

export const spamFilterAddress: Reader<SpamFilterAddress> = (value) => {
  const socket = /^spamd:\/\/(\/.+)$/.exec(value)?.[1]
  if (socket !== undefined) return { kind: 'spamd', host: '', port: 0, path: socket }
  const [, kind, host, digits] = /^(spamd|rspamd):\/\/([\w.-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?\/?$/i.exec(value) ?? []
  if ((kind !== 'spamd' && kind !== 'rspamd') || host === undefined)
    return expected('spamd://host:783, spamd:///path/of/socket or rspamd://host:11333')
  return { kind, host: host.replace(/^\[|\]$/g, ''), port: port(digits ?? String(FILTER_PORTS[kind])), path: null }
}

/** A selector of DKIM: one or more labels. */
export const dnsLabel: Reader<string> = (value) =>
  /^(?=.{1,100}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(value)
    ? value.toLowerCase()
    : expected('a DNS label such as s2026')

/** What Gmail accepts as the last part of Feedback-ID. */
export const feedbackSender: Reader<string> = (value) =>
  /^[A-Za-z0-9]{5,15}$/.test(value) ? value : expected('5 to 15 letters and digits')

export const seconds: Reader<number> = (value) => {
  const number = Number(value)
  return value !== '' && number > 0 && Number.isFinite(number) ? number : expected('a number of seconds above 0')
}

export const decimal: Reader<number> = (value) => {
  const number = Number(value)
  return value !== '' && number > 0 && Number.isFinite(number) ? number : expected('a number above 0')
}

export const ratio: Reader<number> = (value) => {
  const number = Number(value)
  return value !== '' && number >= 0 && number <= 1 ? number : expected('a number from 0 to 1')
}

/** `name=value`, separated by commas; values are percent-encoded, as in the specification of OpenTelemetry. */
export const keyValueList: Reader<Readonly<Record<string, string>>> = (value) => {
  const pairs = list(value).map((pair) => /^([\w.!#$%&'*+^`|~-]+)\s*=\s*([\x20-\x7e]*)$/.exec(pair))
  try {
    return Object.fromEntries(
      pairs.map((pair) => [pair?.[1] ?? expected(PAIRS), decodeURIComponent(pair?.[2] ?? '')] as const),
    )
  } catch {
    return expected(PAIRS)
  }
}
const PAIRS = 'a comma-separated list of name=value, percent-encoded'

/** The proxies in front of the API: how many, or the networks they are in. */
export type ProxyTrust = number | readonly Network[]

/** `true` means one proxy, a number that many; anything else lists the networks of all proxies. */
export const proxies: Reader<ProxyTrust> = (value) => {
  if (/^(true|yes|on)$/i.test(value)) return 1
  if (/^(false|no|off)$/i.test(value)) return 0
  if (/^\d{1,2}$/.test(value)) return Number(value)
  try {
    return cidrs(value)
  } catch {
    return expected(
      'true, false, a number of proxies, or a comma-separated list of networks such as 10.0.0.0/8,192.0.2.7',
    )
  }
}

export const url: Reader<string> = (value) => {
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    expected('a URL that starts with http:// or https://')
  return value.replace(/\/+$/, '')
}

/** A URL, or `none` to switch the feature off. */
export const urlOrNone: Reader<string | null> = (value) => (value.toLowerCase() === 'none' ? null : url(value))

export function choice<const T extends string>(...allowed: readonly T[]): Reader<T> {
  return (value) => allowed.find((one) => one === value) ?? expected(`one of ${allowed.join(', ')}`)
}

export const boolean: Reader<boolean> = (value) =>
  value === 'true' || value === 'false' ? value === 'true' : expected('true or false')

/** `50,100,200` */
export const countList: Reader<readonly number[]> = (value) => {
  const numbers = list(value).map(Number)
  const isGood =
    numbers.length > 0 && numbers.every((number) => Number.isInteger(number) && number >= 1 && number <= 10_000_000)
  return isGood ? numbers : expected('a comma-separated list of whole numbers from 1 to 10000000')
}

/** DNS names, or `none` to switch the feature off. */
export const dnsNamesOrNone: Reader<readonly string[]> = (value) => {
  const names = value.toLowerCase() === 'none' ? [] : list(value.toLowerCase())
  return names.every((name) => /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/.test(name))
    ? names
    : expected('a comma-separated list of DNS names, or none')
}

export const dnsServers: Reader<string[]> = (value) => {
  const servers = list(value)
  for (const server of servers) {
    const host = server.replace(/^\[|\]?(:\d+)?$/g, '')
    if (isIP(host) === 0 && isIP(server) === 0) expected('a comma-separated list of ip:port or [ipv6]:port')
  }
  return servers
}

/** `10.0.0.0/8, ::1`; an address without a prefix length is a network of one address. */
export const cidrs: Reader<Network[]> = (value) => list(value).map(network)

function network(part: string): Network {
  try {
    if (part.includes('/')) return ipaddr.parseCIDR(part)
    const address = ipaddr.parse(part)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch {
    return expected('a comma-separated list of networks such as 127.0.0.0/8,10.1.2.3')
  }
}

/** Clients that may submit mail without authentication, and the workspace they send for (id, key part or name). */
export interface RelayNetwork {
  readonly network: Network
  readonly workspace: string
}

export const relayNetworks: Reader<RelayNetwork[]> = (value) =>
  list(value).map((part) => {
    const at = part.indexOf('=')
    const [networks, workspace] = [cidrs(part.slice(0, Math.max(at, 0))), part.slice(at + 1).trim()]
    const [first] = networks
    if (first === undefined || workspace === '')
      return expected('a comma-separated list of network=workspace such as 10.1.0.0/16=Shop')
    return { network: first, workspace }
  })

export const routes: Reader<RouteRule[]> = (value) =>
  list(value).map((part) => {
    const [domain, target] = part.split(/=(.*)/s)
    const parsed = target !== undefined && URL.canParse(target) ? new URL(target) : undefined
    if (domain === undefined || domain === '' || parsed?.protocol !== 'smtp:' || parsed.hostname === '')
      return expected('a comma-separated list of domain=smtp://host:port')
    return {
      domain: domain.toLowerCase(),
      host: parsed.hostname.replace(/^\[|\]$/g, ''),
      port: parsed.port === '' ? 25 : Number(parsed.port),
    }
  })
