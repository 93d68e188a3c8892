import { assert } from 'chai'
import { exclusionFilter, type Exclusions } from './exclusion-filter.ts'

describe('dashboard: contacts left out of a campaign', () => {
  const NOBODY: Exclusions = { tags: [], audienceId: null, mailedWithinDays: null }

  it('nobody is left out without a rule', () => {
    assert.isNull(exclusionFilter({ tag: 'vip', has: true }, NOBODY))
  })

  it('keeps the chosen segment, and leaves out who matches any rule', () => {
    const filter = exclusionFilter(
      { tag: 'vip', has: true },
      { tags: ['staff', 'press'], audienceId: 'a', mailedWithinDays: 7 },
    )
    assert.deepEqual(filter, {
      all: [
        { tag: 'vip', has: true },
        {
          not: {
            any: [
              { tag: 'staff', has: true },
              { tag: 'press', has: true },
              { status: 'member', audienceId: 'a' },
              { activity: 'mailed', withinDays: 7 },
            ],
          },
        },
      ],
    })
  })
})
