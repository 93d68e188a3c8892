/**
 * Checks DKIM, SPF and DMARC of a message as a receiver would, with queries to public DNS: whether its signatures
 * verify, whether SPF permits our address for the return-path, and whether either is aligned with the From header.
 * mailauth verifies, not our signer. A DNS failure or an exception of mailauth becomes a step that says so; it is not a
 * result.
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
  /** The local address of the connection; null if none was made. */
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
      .map(({ selector, signingDomain, algo, status }) => {
        const comment = status.comment ? `, ${status.comment}` : ''
        return `${selector}._domainkey.${signingDomain} (${algo}): ${status.result}${comment}`
      })
      .join('; ')
    if (found.length === 0)
      return {
        step: warn('DKIM', 'the message is not signed', 'create a DKIM key: the sending domain has no active key'),
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
        step: warn('DKIM', says, 'one valid signature is enough; publish the DKIM record of the other'),
        passed,
        headerFrom,
      }
    return { step: ok('DKIM', says), passed, headerFrom }
  } catch (error) {
    return {
      step: fail('DKIM', `DKIM verification failed: ${errorText(error)}`, 'check the message'),
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
    return { step: skipped('SPF', 'no connection was made, so the source address is unknown'), passed: [] }
  if (!isReachable(sourceAddress, allowPrivateTargets)) {
    const says =
      `the source address is ${sourceAddress}, which receivers do not see (NAT): ` +
      `SPF of ${domain} cannot be checked here`
    return { step: warn('SPF', says, 'check that the SPF record names the public address'), passed: [] }
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
    return { step: warn('SPF', `the check failed: ${errorText(error)}`, 'check the DNS server'), passed: [] }
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
    if (found === false)
      return fail('DMARC', 'the From header does not have exactly one domain', 'use one address in From')
    const { status, policy, domain } = found
    if (status.result === 'pass') return ok('DMARC', `aligned with ${domain}; its policy is ${policy}`)
    if (status.result === 'none')
      return warn(
        'DMARC',
        `${domain} has no DMARC record`,
        `publish v=DMARC1; p=none at _dmarc.${domain}: large receivers require one`,
      )
    return fail(
      'DMARC',
      `neither DKIM nor SPF passes for a domain aligned with ${domain} (${status.result}); its policy is ${policy}`,
      'correct DKIM: it is aligned if the From domain itself signs',
    )
  } catch (error) {
    return warn('DMARC', `the check failed: ${errorText(error)}`, 'check the DNS server')
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
