/** The tables of docs/guides/sending-ips-and-pools.md match the code. */
import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { WARM_UP_RULES } from '#config/warm-up.ts'
import { CHECK_NAMES } from './source-checks.ts'
import { SOURCE_STATES } from './sources.ts'

describe('docs/guides/sending-ips-and-pools.md', () => {
  const page = readFileSync(new URL('../../docs/guides/sending-ips-and-pools.md', import.meta.url), 'utf8')

  it('lists the states of a source', () => {
    assert.ok(
      page.includes(
        Object.entries(SOURCE_STATES)
          .map(([name, meaning]) => `| \`${name}\` | ${meaning} |`)
          .join('\n'),
      ),
    )
  })
  it('lists the checks', () => {
    const names = [...page.matchAll(/^\| `([^`]+)` \| /gm)].map(([, name]) => name)
    assert.deepEqual(names.slice(-CHECK_NAMES.length), CHECK_NAMES)
  })
  it('lists the rules of the warm-up', () => {
    const percent = (share: number): string => `${share * 100} %`
    const { leastSample, hold, back, forgetDays } = WARM_UP_RULES
    const shares = [hold, back].flatMap(({ throttled, complaints }) => [percent(throttled), percent(complaints)])
    for (const text of [`fewer than ${leastSample} answers`, `each ${forgetDays} days`, ...shares])
      assert.ok(page.includes(text), text)
  })
})
