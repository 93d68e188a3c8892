import { assert } from 'chai'
import { loadConfig } from '#config/load.ts'
import { offerFirstAccount } from './first-operator.ts'

describe('the link for the first operator', () => {
  it('is named with a command if PostgreSQL fails meanwhile, and nothing ends', async () => {
    const config = { ...loadConfig({}), databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }
    const [why, next] = await offerFirstAccount(config, '01a20311-697a-7000-82ad-e7d09fbe940c')
    assert.match(why ?? '', /^The link for the account of the first operator was not made: .*ECONNREFUSED/)
    assert.match(next ?? '', /mailstead user invite/)
  })
})
