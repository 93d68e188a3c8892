import { assert } from 'chai'
import type { NamedFinding } from '#src/going-live/checks.ts'
import { missingText } from './live-report.ts'

const finding = (more: Partial<NamedFinding>): NamedFinding => ({
  name: 'PTR',
  status: 'ok',
  detail: 'D',
  todo: 'T',
  holds: true,
  ...more,
})

describe('what the start of a live installation reports', () => {
  it('nothing is missing', () =>
    assert.deepEqual(missingText([finding({}), finding({ status: 'unknown' }), finding({ status: 'skipped' })]), [
      'Nothing is missing for a live installation.',
    ]))
  it('each finding with its fix and guide, and what is held back', () => {
    const lines = missingText([finding({ status: 'failed' }), finding({ name: 'SMTP certificate', status: 'warning' })])
    assert.include(lines, '  PTR: D\n    → T (docs/guides/going-live.md#1-prepare-the-host)')
    assert.match(lines.at(-1) ?? '', /^Campaigns are held back until this is fixed: PTR\. One-time codes/)
  })
  it('findings that hold nothing', () =>
    assert.strictEqual(missingText([finding({ status: 'failed', holds: false })]).at(-1), 'Nothing is held back.'))
})
