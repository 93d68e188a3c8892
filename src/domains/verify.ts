/**
 * Looks in DNS for the keys of a domain. The RSA key there, and ours, is the proof that whoever added the domain can write its zone.
 * A domain that was verified is not taken down here when its records are gone: that is for the regular checks, which know for how long.
 */
import type { Context } from '#src/context.ts'
import { findProblem } from './dkim-record.ts'
import { type Domain, trustDomain } from './domains.ts'
import { dkimName, type Published } from './records.ts'
import { createTxtLookup, type TxtLookup } from './txt.ts'

export interface DnsCheck {
  readonly name: string
  readonly algorithm: Published['algorithm']
  readonly isRequired: boolean
  /** `unknown`: DNS did not answer; try again. */
  readonly status: 'ok' | 'missing' | 'wrong' | 'unknown'
  /** A sentence for the owner of the zone. */
  readonly message: string
}

export interface Verification {
  /** `taken`: the records are right, but another workspace holds the domain. */
  readonly kind: 'verified' | 'not-verified' | 'taken' | 'not-found'
  readonly checks: readonly DnsCheck[]
}

export async function verifyDomain(ctx: Pick<Context, 'config' | 'db'>, domain: Domain): Promise<Verification> {
  const lookup = createTxtLookup(ctx.config)
  const checks = await Promise.all(domain.keys.map((key) => checkKey(domain.domain, key, lookup)))
  const isProven = checks.some((check) => check.isRequired) && checks.every((check) => !check.isRequired || check.status === 'ok')
  return { kind: isProven ? await trustDomain(ctx.db, domain.id) : 'not-verified', checks }
}

async function checkKey(domain: string, key: Published, lookup: TxtLookup): Promise<DnsCheck> {
  const name = dkimName(key.selector, domain)
  const check = { name, algorithm: key.algorithm, isRequired: key.algorithm === 'rsa-sha256' }
  const answer = await lookup(name)
  if (answer.kind === 'failed') return { ...check, status: 'unknown', message: `${name}: ${answer.reason}; try again later` }
  const problem = findProblem(answer.texts, key.dnsValue)
  if (problem === null) return { ...check, status: 'ok', message: `${name}: the key is there` }
  if (answer.texts.length > 0) return { ...check, status: 'wrong', message: `${name}: ${problem}` }
  return { ...check, status: 'missing', message: `${name}: ${await findMisplaced(name, domain, key, lookup) ?? problem}` }
}

/** Many DNS interfaces append the domain by themselves, and the record ends up at a name with the domain twice. */
async function findMisplaced(name: string, domain: string, key: Published, lookup: TxtLookup): Promise<string | null> {
  const twice = await lookup(`${name}.${domain}`)
  if (twice.kind === 'failed' || findProblem(twice.texts, key.dnsValue) !== null) return null
  return `the record is at ${name}.${domain}: enter its name as ${name.slice(0, -domain.length - 1)}, the domain is appended by itself`
}
