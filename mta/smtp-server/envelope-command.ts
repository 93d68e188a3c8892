/**
 * Parses MAIL and RCPT (RFC 5321 4.1.1.2, 4.1.1.3): a path and parameters. Whether the address exists, or is one that
 * this server wants, the caller decides with the rule of src/mail/address.ts. An address without angle brackets is
 * accepted, as old programs send it; a source route is ignored (RFC 5321 appendix C).
 *
 * Parameters that were not offered, are given twice, or have a wrong value are refused (RFC 5321 4.1.1.11).
 */
import { ReplyError } from './reply.ts'

export interface EnvelopeAddress {
  /** Empty for the null reverse-path `<>`. */
  readonly address: string
  /** By name in upper case; `true` without a value. Values in xtext are decoded (RFC 3461 4). */
  readonly parameters: ReadonlyMap<string, string | true>
}

type Verb = 'MAIL' | 'RCPT'

/** Returns a problem with the value, or null. */
type ParameterRule = (value: string | true) => string | null
/** The rules of the parameters that a server offers, by name. */
export type ParameterRules = Readonly<Record<string, ParameterRule>>

const hasValue: ParameterRule = (value) => (value === true || value === '' ? 'requires a value' : null)
const isFlag: ParameterRule = (value) => (value === true ? null : 'takes no value')
const matches =
  (pattern: RegExp, problem: string): ParameterRule =>
  (value) =>
    value !== true && pattern.test(value) ? null : problem

/** RFC 1870, RFC 6152, RFC 6531. */
export const MAIL_PARAMETERS: ParameterRules = {
  SIZE: matches(/^\d{1,20}$/, 'must be a number of octets'),
  BODY: matches(/^(?:7BIT|8BITMIME)$/i, 'must be 7BIT or 8BITMIME'),
  SMTPUTF8: isFlag,
}
/** RFC 3461 4.3, 4.4; AUTH of RFC 4954 5 is accepted and ignored. */
export const SUBMISSION_MAIL_PARAMETERS: ParameterRules = {
  ...MAIL_PARAMETERS,
  RET: matches(/^(?:FULL|HDRS)$/i, 'must be FULL or HDRS'),
  ENVID: hasValue,
  AUTH: hasValue,
}
/** RFC 3461 4.1, 4.2. */
export const SUBMISSION_RCPT_PARAMETERS: ParameterRules = {
  NOTIFY: matches(
    /^(?:NEVER|(?:SUCCESS|FAILURE|DELAY)(?:,(?:SUCCESS|FAILURE|DELAY))*)$/i,
    'must be NEVER, or a list of SUCCESS, FAILURE and DELAY',
  ),
  ORCPT: matches(/^[a-z0-9!#$%&'*+/=?^_`{|}~-]+;./i, 'must be a type of address and an address'),
}

const BAD_PATH: Readonly<Record<Verb, ReplyError>> = {
  MAIL: new ReplyError(501, '5.1.7 Bad sender address syntax: MAIL FROM:<address>'),
  RCPT: new ReplyError(501, '5.1.3 Bad recipient address syntax: RCPT TO:<address>'),
}
const KEYWORD: Readonly<Record<Verb, RegExp>> = {
  MAIL: /^MAIL[ \t]+FROM[ \t]*:[ \t]*/i,
  RCPT: /^RCPT[ \t]+TO[ \t]*:[ \t]*/i,
}
/** RFC 5321 4.5.3.1.3: a path has 256 octets, with its angle brackets. */
const MAX_ADDRESS_OCTETS = 254
// oxlint-disable-next-line no-control-regex -- what a value must not contain
const CONTROL = /[\0-\x1f\x7f]/
/** Control characters, and characters that are invisible. */
const UNSAFE = /[\p{Cc}\u200b\u2060\ufeff]/u
const BRACKETED = /^<((?:[^<>"\\\s]|"(?:[^"\\]|\\.)*"|\\.)*)>(?=[ \t]|$)/
const BARE = /^([^<>"\\\s]+@[^<>"\\\s@]+)(?=[ \t]|$)/
const SOURCE_ROUTE = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/
const WITH_DOMAIN = /.@[^\s@]+$/
const PARAMETER = /^([a-z0-9][a-z0-9-]*)(?:=(.*))?$/i

/** `rules`: for the parameters that were offered. @throws ReplyError. */
export function parseEnvelopeCommand(verb: Verb, line: string, rules: ParameterRules): EnvelopeAddress {
  const keyword = KEYWORD[verb].exec(line)
  if (keyword === null) throw BAD_PATH[verb]
  const rest = line.slice(keyword[0].length)
  const path = BRACKETED.exec(rest) ?? BARE.exec(rest)
  if (path === null) throw BAD_PATH[verb]
  const address = (path[1] ?? '').replace(SOURCE_ROUTE, '')
  if (!isPath(verb, address)) throw BAD_PATH[verb]
  return { address, parameters: parseParameters(rest.slice(path[0].length), rules) }
}

function isPath(verb: Verb, address: string): boolean {
  if (address === '') return verb === 'MAIL'
  if (UNSAFE.test(address) || Buffer.byteLength(address) > MAX_ADDRESS_OCTETS) return false
  // RFC 5321 4.1.1.3: the postmaster of the server needs no domain
  return WITH_DOMAIN.test(address) || (verb === 'RCPT' && /^postmaster$/i.test(address))
}

const NO_PARAMETERS: ReadonlyMap<string, string | true> = new Map()

function parseParameters(text: string, rules: ParameterRules): EnvelopeAddress['parameters'] {
  if (text.trim() === '') return NO_PARAMETERS
  const parameters = new Map<string, string | true>()
  for (const word of text.trim().split(/[ \t]+/)) {
    const [, name = '', encoded] = PARAMETER.exec(word) ?? []
    const key = name.toUpperCase()
    const value = encoded === undefined ? true : decodeXtext(encoded)
    if (key === '' || parameters.has(key)) throw refuse(501, word, key === '' ? 'is not a parameter' : 'is given twice')
    if (value !== true && CONTROL.test(value)) throw refuse(501, key, 'has a control character')
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined
    if (rule === undefined) throw refuse(555, key, 'was not offered')
    const problem = rule(value)
    if (problem !== null) throw refuse(501, key, problem)
    parameters.set(key, value)
  }
  return parameters
}

function refuse(code: 501 | 555, name: string, problem: string): ReplyError {
  return new ReplyError(code, `5.5.4 The parameter ${name.slice(0, 40)} ${problem}`)
}

function decodeXtext(value: string): string {
  return value.replaceAll(/\+([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
