/** Each check has a reason, and each reason a check. */
import { assert } from 'chai'
import { commandChecks } from './checks.ts'
import { neededRecordOf, REASONED_NAMES, reasonOf } from './reasons.ts'

const ELSEWHERE = ['DNSSEC', 'TLS reports']
const none = { name: '', run: () => Promise.reject(new Error('not run')) }
const NAMES = commandChecks({ dnssec: { ...none, name: 'DNSSEC' }, tlsReports: { ...none, name: 'TLS reports' } }).map(
  ({ name }) => name,
)

describe('the reasons of checks', () => {
  it('exist for each check', () => {
    assert.deepEqual(
      NAMES.filter((name) => reasonOf(name) === ''),
      [],
    )
  })
  it('are those of checks that exist', () => {
    assert.deepEqual(
      REASONED_NAMES.filter((name) => !NAMES.includes(name)),
      [],
    )
    assert.includeMembers(NAMES, ELSEWHERE)
  })
  it('have the record that repairs it', () => {
    const config = { bounceDomain: 'bounce.mail.example', serverName: 'mx.mail.example' }
    assert.deepEqual(neededRecordOf('bounce domain', config), {
      type: 'MX',
      name: 'bounce.mail.example',
      value: '10 mx.mail.example',
    })
    assert.equal(neededRecordOf('bounce domain DMARC', config)?.name, '_dmarc.mail.example')
    assert.isNull(neededRecordOf('PTR', config))
  })
})
