import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import {
  DOMAIN_STEPS,
  type DomainState,
  nextStepOfDomain,
  nextStepOfSource,
  SOURCE_STEPS,
  type SourceCounts,
} from './next-steps.ts'

const PASSING: SourceCounts = {
  messages: 100,
  passed: 100,
  dkimAligned: 100,
  spfAligned: 100,
  forwarded: 0,
  otherDomain: null,
  isOurs: false,
}
const FAILING = { ...PASSING, passed: 0, dkimAligned: 0, spfAligned: 0 }

const SOURCES: readonly (readonly [string, Partial<SourceCounts>, 'none' | 'reject', string, RegExp])[] = [
  ['our mail passes', { isOurs: true }, 'none', 'passing', /^Nothing to do/],
  ['our mail without MAIL FROM', { isOurs: true, spfAligned: 0 }, 'none', 'passing', /^Nothing to do/],
  ['our mail fails', { ...FAILING, isOurs: true }, 'none', 'ours_failing', /correct its DKIM/],
  ['a service passes', {}, 'none', 'passing', /^Nothing to do/],
  ['two of a hundred fail', { passed: 98, dkimAligned: 98 }, 'none', 'passing', /^Nothing to do/],
  ['DKIM only', { spfAligned: 0 }, 'none', 'forwarded', /forwarder/],
  ['SPF only', { dkimAligned: 0 }, 'none', 'spf_only', /turn on DKIM/],
  ['a mailing list', { ...FAILING, forwarded: 100 }, 'none', 'forwarded_failing', /mailing list/],
  ['half of it', { passed: 50, dkimAligned: 50, spfAligned: 50 }, 'none', 'partly_failing', /Only 50 %/],
  [
    'another service',
    { ...FAILING, otherDomain: 'crm.example' },
    'none',
    'unaligned',
    /as crm\.example.*add it to SPF/,
  ],
  ['nobody, without a policy', FAILING, 'none', 'unknown_sender', /move the policy to quarantine/],
  ['nobody, with a policy', FAILING, 'reject', 'rejected', /nothing to do/],
]

const READY: DomainState = { policy: 'none', percent: 100, days: 14, sources: [{ code: 'passing', messages: 9 }] }
const DOMAINS: readonly (readonly [string, Partial<DomainState>, string, RegExp])[] = [
  ['no report', { policy: null, sources: [] }, 'no_reports', /Publish the DMARC record/],
  ['own sources fail', { sources: [{ code: 'ours_failing', messages: 1 }] }, 'correct_sources', /Correct the sources/],
  ['a week', { days: 7 }, 'wait', /now 7/],
  ['two weeks', {}, 'raise', /from p=none to p=quarantine/],
  ['forged mail beside', { sources: [...READY.sources, { code: 'unknown_sender', messages: 5 }] }, 'raise', /raise/],
  ['quarantine', { policy: 'quarantine' }, 'raise', /from p=quarantine to p=reject/],
  ['quarantine of a tenth', { policy: 'quarantine', percent: 10 }, 'raise_percent', /pct=100 instead of 10/],
  ['reject', { policy: 'reject', days: 1 }, 'done', /^Nothing to do/],
]

describe('the next step', () => {
  const guide = readFileSync(new URL('../../docs/guides/dmarc-reports.md', import.meta.url), 'utf8')
  const anchors = [...guide.matchAll(/^### (.+)$/gm)].map(([, title = '']) =>
    title.toLowerCase().replaceAll(':', '').replaceAll(' ', '-'),
  )
  it('has a heading in the guide for each', () => {
    const codes = [...SOURCE_STEPS.map((code) => `source-${code}`), ...DOMAIN_STEPS.map((code) => `domain-${code}`)]
    assert.sameMembers(
      anchors,
      codes.map((code) => code.replaceAll('_', '-')),
    )
  })
  for (const [what, given, policy, code, text] of SOURCES)
    it(`for a source: ${what}`, () => {
      const step = nextStepOfSource({ ...PASSING, ...given }, policy)
      assert.strictEqual(step.code, code)
      assert.match(step.text, text)
    })
  for (const [what, given, code, text] of DOMAINS)
    it(`for a domain: ${what}`, () => {
      const step = nextStepOfDomain({ ...READY, ...given })
      assert.strictEqual(step.code, code)
      assert.match(step.text, text)
    })
})
