import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createCoalescedRefresh } from './coalesced-refresh.ts'

describe('coalesced refresh', () => {
  it('runs refreshes in sequence, shares waiting ones, and continues after a failure', async () => {
    const seen: string[] = []
    let truth = 0
    let began = 0
    const looks = createCoalescedRefresh(
      async () => {
        const [number, found] = [++began, truth]
        await sleep(number === 1 ? 20 : 1)
        if (number === 2) throw new Error('away')
        seen.push(`${number} saw ${found}`)
      },
      (error) => seen.push(String(error)),
    )
    const first = looks.refresh()
    await sleep(1)
    truth = 1
    const [second, shared] = [looks.refresh(), looks.refresh()]
    assert.strictEqual(second, shared)
    await first
    assert.deepEqual(seen, ['1 saw 0'])
    await second
    truth = 2
    void looks.refresh()
    await looks.settled()
    assert.deepEqual(seen, ['1 saw 0', 'Error: away', '3 saw 2'])
  })
})
