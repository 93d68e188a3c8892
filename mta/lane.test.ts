import assert from 'node:assert/strict'
import type { Claimed } from '#src/messages/claim.ts'
import { paceWith } from '#test/support/pace.ts'
import { Lane } from './lane.ts'
import type { Waiting } from './waiting.ts'

const bulk = (): Waiting => ({ claimed: { tier: 'bulk' } as Claimed }) as Waiting
const SHARE = { instant: 2, others: 8 }

describe('a lane', () => {
  function laneOf(...sources: (string | null)[]): Lane {
    const lane = new Lane('s')
    for (const source of sources) lane.trackOf(source, paceWith({ share: SHARE }))
    return lane
  }
  const fillUp = (lane: Lane, source: string): void => {
    for (let i = 0; i < 20; i++) lane.tracks.get(source)?.push(bulk())
  }

  it('claims a little where it knows nothing yet, then what its tracks have room for, together', () => {
    assert.deepEqual(laneOf().room(0), { instant: 10, others: 10 })
    const [one, two] = [laneOf('a'), laneOf('a', 'b')]
    assert.equal(two.room(0).others, 2 * one.room(0).others)
  })
  it('a source that has enough does not keep it from claiming for another', () => {
    const lane = laneOf('a', 'b')
    fillUp(lane, 'a')
    assert.ok(lane.room(0).others > 0)
    fillUp(lane, 'b')
    assert.equal(lane.room(0).others, 0)
  })
  it('looks now and then for mail of sources that had none yet', () => {
    const lane = laneOf('a')
    fillUp(lane, 'a')
    lane.sources = () => 2
    assert.ok(lane.room(5000).others > 0)
    assert.equal(lane.room(5500).others, 0)
    assert.ok(lane.room(6000).others > 0)
  })
  it('rests, longer each time, after claims that brought only what is too much; instant mail is claimed all the same', () => {
    const lane = laneOf('a', 'b')
    lane.claimed(0, 1000)
    assert.equal(lane.pausedUntilMs, 1050)
    lane.claimed(0, 2000)
    assert.equal(lane.pausedUntilMs, 2100)
    assert.equal(lane.room(2000).others, 0)
    assert.ok(lane.room(2000).instant > 0)
    lane.hasInstantNews = false
    assert.deepEqual(lane.room(2000), { instant: 0, others: 0 })
    lane.claimed(1, 3000)
    assert.ok(lane.room(3000).others > 0)
  })
  it('forgets a track that nothing went by, not the last, nor one whose receiver stopped it', () => {
    const lane = laneOf('a', 'b')
    lane.tracks.get('b')?.pace.setSuspended(true)
    lane.forget(1)
    assert.deepEqual([...lane.tracks.keys()], ['b'])
    lane.tracks.get('b')?.pace.setSuspended(false)
    lane.forget(1)
    assert.deepEqual([...lane.tracks.keys()], ['b'])
  })
})
