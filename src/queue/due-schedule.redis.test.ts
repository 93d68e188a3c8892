import { assert } from 'chai'
import { openOwnRedis, type OwnRedis } from '#test/support/redis.ts'
import { createDueSchedule, type DueSchedule } from './due-schedule.ts'
import { dueKey } from './keys.ts'

describe('schedule (Redis)', () => {
  let own: OwnRedis
  let schedule: DueSchedule
  before(async () => {
    own = await openOwnRedis()
    schedule = createDueSchedule(own.redis)
  })
  after(() => own.close())

  it('removes due recipients, the earliest first, and returns when the next is due', async () => {
    await own.redis.zadd(dueKey('high'), 30, 'c', 10, 'a', 20, 'b', 500, 'later')
    assert.deepEqual(await schedule.popDue('high', 100, 2), {
      due: [
        { member: 'a', dueMs: 10 },
        { member: 'b', dueMs: 20 },
      ],
      nextMs: 30,
    })
    assert.deepEqual(await schedule.popDue('high', 100, 2), { due: [{ member: 'c', dueMs: 30 }], nextMs: 500 })
    assert.deepEqual(await schedule.popDue('high', 100, 2), { due: [], nextMs: 500 })
    assert.deepEqual(await schedule.popDue('instant', 100, 2), { due: [], nextMs: null })
  })
})
