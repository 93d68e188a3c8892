/**
 * What a receiver would find out about the message, asked in the DNS that receivers ask: whether its signatures verify, whether SPF lets
 * our address send for the return-path, and whether either is aligned with the From header (DMARC). Judged by mailauth, not by our signer.
 * DNS that does not answer, and anything that mailauth throws, is told and is no verdict.
 */
import { Resolver } from 'node:dns/promises'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { dmarc } from 'mailauth/lib/dmarc/index.js'
import { spf } from 'mailauth/lib/spf/index.js'
import type { Config } from '#config/load.ts'
import { isReachable } from '#src/net/address-policy.ts'
import type { DryRunStep } from '#src/operator/dry-runs.ts'
import { fail, ok, skipped, warn } from './steps.ts'

export interface MailToAuthenticate {
  readonly data: Buffer
  readonly returnPath: string
  readonly ehloName: string
  /** Where the connection came from; null when there was none. */
  readonly sourceAddress: string | null
}

type ResolveRecords = (name: string, type: string) => Promise<unknown>
type PassedDomains = { readonly domain: string; readonly id?: string }[]

const DNS_TIMEOUT_MS = 3000

/** DKIM, SPF and DMARC, in this order. */
export async function checkAuthentication(
  config: Pick<Config, 'dnsServers' | 'allowPrivateTargets'>,
  mail: MailToAuthenticate,
): Promise<DryRunStep[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  if (config.dnsServers !== null) resolver.setServers(config.dnsServers)
  const resolve: ResolveRecords = (name, type) => resolver.resolve(name, type)
  const [dkimCheck, spfCheck] = await Promise.all([checkDkim(mail, resolve), checkSpf(config, mail, resolve)])
  return [
    dkimCheck.step,
    spfCheck.step,
    await checkDmarc(dkimCheck.headerFrom, resolve, { dkim: dkimCheck.passed, spf: spfCheck.passed }),
  ]
}

interface DkimCheck {
  readonly step: DryRunStep
  readonly passed: PassedDomains
  readonly headerFrom: string[]
}

async function checkDkim({ data }: MailToAuthenticate, resolver: ResolveRecords): Promise<DkimCheck> {
  try {
    const { results, headerFrom } = await dkimVerify(data, { strict: true, resolver: resolver as never })
    const found = results.filter(({ status }) => status.result !== 'none')
    const passed = found
      .filter(({ status }) => status.result === 'pass')
      .map(({ signingDomain, id }) => ({ domain: signingDomain ?? '', ...(id === undefined ? {} : { id }) }))
    const says = found
      .map(
        ({ selector, signingDomain, algo, status }) =>
          `${selector}._domainkey.${signingDomain} (${algo}): ${status.result}${status.comment ? `, ${status.comment}` : ''}`,
      )
      .join('; ')
    if (found.length === 0)
      return {
        step: warn('DKIM', 'it is not signed', 'sign it: the sending domain has no active key'),
        passed,
        headerFrom,
      }
    if (passed.length === 0)
      return {
        step: fail('DKIM', says, 'publish the DKIM records of the domain: mailstead domain list'),
        passed,
        headerFrom,
      }
    if (passed.length < found.length)
      return {
        step: warn('DKIM', says, 'one signature is good enough; publish the record of the other'),
        passed,
        headerFrom,
      }
    return { step: ok('DKIM', says), passed, headerFrom }
  } catch (error) {
    return {
      step: fail('DKIM', `it could not be verified: ${errorText(error)}`, 'look at the message'),
      passed: [],
      headerFrom: [],
    }
  }
}

async function checkSpf(
  { allowPrivateTargets }: Pick<Config, 'allowPrivateTargets'>,
  mail: MailToAuthenticate,
  resolver: ResolveRecords,
): Promise<{ step: DryRunStep; passed: string[] }> {
  const { sourceAddress, returnPath, ehloName } = mail
  const domain = returnPath.slice(returnPath.lastIndexOf('@') + 1)
  if (sourceAddress === null)
    return { step: skipped('SPF', 'no connection was made, so the address we send from is not known'), passed: [] }
  if (!isReachable(sourceAddress, allowPrivateTargets)) {
    const says = `we connect from ${sourceAddress}, which receivers do not see (NAT): SPF of ${domain} cannot be judged here`
    return { step: warn('SPF', says, 'see that SPF names the public address'), passed: [] }
  }
  try {
    const { status, domain: checkedDomain } = await spf({
      sender: returnPath,
      ip: sourceAddress,
      helo: ehloName,
      mta: ehloName,
      resolver: resolver as never,
      maxElapsedTime: 10_000,
    })
    const says = `${sourceAddress} for ${domain}: ${status.result}${status.comment ? `, ${status.comment}` : ''}`
    if (status.result === 'pass') return { step: ok('SPF', says), passed: [checkedDomain ?? domain] }
    return { step: warn('SPF', says, `publish an SPF record at ${domain} that names ${sourceAddress}`), passed: [] }
  } catch (error) {
    return { step: warn('SPF', `it could not be judged: ${errorText(error)}`, 'look at the DNS server'), passed: [] }
  }
}

async function checkDmarc(
  headerFrom: string[],
  resolver: ResolveRecords,
  passedDomains: { readonly dkim: PassedDomains; readonly spf: string[] },
): Promise<DryRunStep> {
  try {
    const found = await dmarc({
      headerFrom,
      dkimDomains: passedDomains.dkim,
      spfDomains: passedDomains.spf,
      resolver: resolver as never,
    })
    if (found === false) return fail('DMARC', 'the From header names no single domain', 'write one address into it')
    const { status, policy, domain } = found
    if (status.result === 'pass') return ok('DMARC', `aligned with ${domain}; its policy is ${policy}`)
    if (status.result === 'none')
      return warn(
        'DMARC',
        `${domain} has no DMARC record`,
        `publish v=DMARC1; p=none at _dmarc.${domain}: large receivers ask for one`,
      )
    return fail(
      'DMARC',
      `neither DKIM nor SPF passes for a domain aligned with ${domain} (${status.result}); its policy is ${policy}`,
      'mend DKIM: it is aligned when the domain itself signs',
    )
  } catch (error) {
    return warn('DMARC', `it could not be judged: ${errorText(error)}`, 'look at the DNS server')
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
