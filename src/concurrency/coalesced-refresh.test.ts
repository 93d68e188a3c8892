import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from 'chai'
import { createLooks } from './coalesced-refresh.ts'

describe('looks', () => {
  it('follow each other, are shared while they wait, and a failed one ends nothing', async () => {
    const seen: string[] = []
    let truth = 0
    let began = 0
    const looks = createLooks(
      async () => {
        const [number, found] = [++began, truth]
        await sleep(number === 1 ? 20 : 1)
        if (number === 2) throw new Error('away')
        seen.push(`${number} saw ${found}`)
      },
      (error) => seen.push(String(error)),
    )
    const first = looks.again()
    await sleep(1)
    truth = 1
    const [second, shared] = [looks.again(), looks.again()]
    assert.strictEqual(second, shared)
    await first
    assert.deepEqual(seen, ['1 saw 0'])
    await second
    truth = 2
    void looks.again()
    await looks.settled()
    assert.deepEqual(seen, ['1 saw 0', 'Error: away', '3 saw 2'])
  })
})
