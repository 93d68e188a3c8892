import { assert } from 'chai'
import { createCompileBudget } from './compile-budget.ts'

describe('the compile time of a workspace', () => {
  it('is limited per minute, returns evenly, and is its own', () => {
    let now = 1_000_000
    const budget = createCompileBudget({ now: () => now }, 6000)
    budget.charge('a', 5999)
    assert.strictEqual(budget.wait('a'), null)
    budget.charge('a', 3001)
    assert.strictEqual(budget.wait('a'), 30)
    assert.strictEqual(budget.wait('b'), null)
    now += 29_000
    assert.strictEqual(budget.wait('a'), 1)
    now += 1001
    assert.strictEqual(budget.wait('a'), null)
    now += 600_000
    budget.charge('a', 5000)
    assert.strictEqual(budget.wait('a'), null, 'an idle workspace saves nothing up')
    budget.charge('a', 5000)
    assert.strictEqual(budget.wait('a'), 40)
  })
  it('does not run out or grow when the clock is set back', () => {
    let now = 1_000_000
    const budget = createCompileBudget({ now: () => now }, 6000)
    budget.charge('a', 6000)
    now -= 500_000
    assert.strictEqual(budget.wait('a'), 1)
  })
})
