import { assert } from 'chai'
import { hexOf, idAt, idOfHex, isUuid, messageIdOf, newId, timeOf } from './id.ts'

describe('ids', () => {
  it('ascend, also within one millisecond and when the clock steps back a little', () => {
    const now = Date.now()
    const ids = Array.from({ length: 10_000 }, (_, i) => newId(i === 5000 ? now - 1000 : now))
    assert.deepEqual(ids, ids.toSorted())
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.ok(ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)))
  })
  it('follow a clock that is set back; idAt has no effect on later ids', () => {
    const now = Date.now()
    newId(now + 365 * 24 * 3600_000)
    assert.strictEqual(timeOf(newId(now)), now)
  })
  it('contain their time', () => {
    const ms = Date.UTC(2031, 4, 5)
    assert.strictEqual(timeOf(newId(ms)), ms)
    assert.strictEqual(timeOf(idAt(ms)), ms)
    assert.ok(idAt(ms) < newId(ms))
  })
  it('have several public forms', () => {
    const id = newId()
    const hex = hexOf(id)
    assert.strictEqual(idOfHex(hex), id)
    for (const spelling of [id, id.toUpperCase(), `em_${hex}`, `msg_1700000000000_${hex}`, `scheduled_msg_1_${hex}`])
      assert.strictEqual(messageIdOf(spelling), id, spelling)
    for (const other of ['', 'em_', `em_${hex}0`, `msg_${hex}`, `xx_${hex}`, `msg_1_${hex}\n`, hex])
      assert.strictEqual(messageIdOf(other), null, other)
    assert.strictEqual(isUuid(`${id}\n`), false)
  })
})
