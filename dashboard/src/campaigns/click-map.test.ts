import { assert } from 'chai'
import { countsByAddress } from './click-map.ts'

describe('dashboard: click map', () => {
  it('adds up the places of one address, however it is written', () => {
    const counts = countsByAddress([
      { url: 'https://example.com', clicked_unique: 2 },
      { url: ' https://EXAMPLE.com/ ', clicked_unique: 3 },
      { url: null, clicked_unique: 9 },
      { url: '{{unsubscribeUrl}}', clicked_unique: 1 },
    ])
    assert.deepEqual(
      [...counts],
      [
        ['https://example.com/', 5],
        ['{{unsubscribeUrl}}', 1],
      ],
    )
  })
})
