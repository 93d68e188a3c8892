import { assert } from 'chai'
import { ConnectionAllowance } from './connection-allowance.ts'

describe('connection allowance', () => {
  interface Case {
    readonly allowance: ConnectionAllowance
    allowed: number
    needed: number
  }
  function allowanceOf(allowed: number, hasRate = false): Case {
    const one: Case = {
      allowed,
      needed: 0,
      allowance: new ConnectionAllowance({
        allowed: () => one.allowed,
        hasRate: () => hasRate,
        onTokenNeeded: () => one.needed++,
      }),
    }
    return one
  }

  it('reserves as many connections as the receiver allows, and the next when one is closed', () => {
    const { allowance } = allowanceOf(2)
    assert.deepEqual([allowance.reserve(), allowance.reserve(), allowance.reserve()], [true, true, false])
    allowance.release()
    assert.deepEqual([allowance.open, allowance.reserve()], [1, true])
  })
  it('requests a token when the rate of new connections is used up', () => {
    const one = allowanceOf(5, true)
    assert.deepEqual([one.allowance.reserve(), one.needed], [false, 1])
    one.allowance.addTokens(1)
    assert.deepEqual([one.allowance.reserve(), one.allowance.tokens], [true, 0])
    one.allowance.refundToken()
    assert.strictEqual(one.allowance.tokens, 1)
  })
  it('wakes who waits for a connection when one is closed or returned', async () => {
    const { allowance } = allowanceOf(1)
    assert.ok(allowance.reserve())
    const waiting = allowance.nextChange()
    allowance.release()
    await waiting
    const next = allowance.nextChange()
    allowance.wake()
    await next
  })
  it('has idle connections closed when the limit falls below the open ones', () => {
    const one = allowanceOf(2)
    let closed = 0
    one.allowance.onOverLimit = () => closed++
    assert.ok(one.allowance.reserve() && one.allowance.reserve())
    one.allowance.changed()
    assert.deepEqual([closed, one.allowance.isOver], [0, false])
    one.allowed = 1
    one.allowance.changed()
    assert.deepEqual([closed, one.allowance.isOver], [1, true])
  })
})
