/** How people sign in: sessions, identity providers, second factors and the mail for a forgotten password. */
import { choice, count, text } from './readers.ts'
import { optional, setting } from './setting.ts'

export const peopleSettings = {
  sessionIdleHours: setting({
    env: 'SESSION_IDLE_HOURS',
    read: count,
    default: '24',
    unit: 'hours',
    description: 'A person who does nothing for this long is signed out.',
    guide: 'people-and-roles',
  }),
  sessionMaxDays: setting({
    env: 'SESSION_MAX_DAYS',
    read: count,
    default: '30',
    unit: 'days',
    description: 'A person is signed out this long after the login, however active they are.',
    guide: 'people-and-roles',
  }),
  secondFactor: setting({
    env: 'SECOND_FACTOR',
    read: choice('optional', 'operators', 'everyone'),
    default: 'optional',
    description:
      'Who must have a second factor or passkey: nobody, operators, or everyone. Who has none can only add one. ' +
      'A login at an identity provider counts as one.',
    guide: 'people-and-roles',
  }),
  identityProvidersFile: optional({
    env: 'IDENTITY_PROVIDERS_FILE',
    read: text,
    description:
      'JSON file with the identity providers that people sign in with over OpenID Connect, one object for each name. ' +
      'If it is not set, people sign in with passwords and passkeys only.',
    guide: 'people-and-roles',
  }),
}
