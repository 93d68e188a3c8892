/** Whether the operator's DKIM key, which feedback loops and ARC seals need, is published in DNS. */
import { createDomainDns } from '#src/domains/domain-dns.ts'
import { findDkimProblem } from '#src/domains/dkim-record.ts'
import { readOperatorKey } from '#src/domains/operator-key.ts'
import { type DoctorCheck, failed, messageOf, ok, skipped } from './check.ts'

export const OPERATOR_DKIM: DoctorCheck = {
  name: 'operator DKIM',
  run: async ({ config }) => {
    if (config.operatorDkimDomain === null) return skipped('OPERATOR_DKIM_DOMAIN is not set: no second signature')
    let key
    try {
      key = readOperatorKey(config)
    } catch (error) {
      return failed(messageOf(error), 'correct OPERATOR_DKIM_KEY, then restart the role outbound')
    }
    if (key === null) return skipped('OPERATOR_DKIM_KEY is not set: no second signature')
    const name = `${key.selector}._domainkey.${key.domain}`
    const record = await createDomainDns(config).txt(name)
    if (record.kind === 'failed') return skipped(`DNS does not answer for ${name}`)
    const problem = findDkimProblem(record.records, key.dnsValue)
    if (problem === null) return ok(`${name} publishes the key of the second signature`)
    return failed(
      `${name}: ${problem.text}; receivers see a signature of ${key.domain} that fails on all mail`,
      `publish ${name} TXT "${key.dnsValue}"`,
    )
  },
}
