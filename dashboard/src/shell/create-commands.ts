/** What the command palette creates: the page with its dialog open, for roles that may. */
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import {
  Ban,
  Globe,
  KeyRound,
  LayoutTemplate,
  Megaphone,
  Plug,
  Upload,
  UserPlus,
  UserRound,
  Users,
  Webhook,
  Workflow,
} from '#dashboard/src/ui/icons.tsx'
import type { Texts } from '#dashboard/src/texts/en/en.ts'

interface CreateCommand {
  /** Below the address of the workspace. */
  readonly path: string
  readonly permission: string
  readonly icon: IconComponent
  readonly label: (texts: Texts) => string
}

export const CREATE_COMMANDS: readonly CreateCommand[] = [
  { path: '/campaigns?create=1', permission: 'campaigns:write', icon: Megaphone, label: (t) => t.campaigns.create },
  {
    path: '/automations?create=1',
    permission: 'automations:write',
    icon: Workflow,
    label: (t) => t.automations.create,
  },
  { path: '/templates/new', permission: 'templates:write', icon: LayoutTemplate, label: (t) => t.templates.create },
  { path: '/audiences?dialog=new', permission: 'audiences:write', icon: Users, label: (t) => t.audiences.create },
  { path: '/contacts?dialog=add', permission: 'contacts:write', icon: UserRound, label: (t) => t.contacts.add },
  { path: '/contacts/import', permission: 'contacts:write', icon: Upload, label: (t) => t.imports.wizardTitle },
  { path: '/domains?add=1', permission: 'domains:write', icon: Globe, label: (t) => t.domains.add },
  { path: '/keys?create=sending', permission: 'keys:write', icon: KeyRound, label: (t) => t.keys.createSending },
  { path: '/accounts?connect=smtp', permission: 'accounts:write', icon: Plug, label: (t) => t.accounts.connectSmtp },
  { path: '/webhooks?create=1', permission: 'webhooks:write', icon: Webhook, label: (t) => t.webhooks.create },
  { path: '/suppressions?dialog=add', permission: 'suppressions:write', icon: Ban, label: (t) => t.suppressions.add },
  { path: '/team?invite=1', permission: 'members:manage', icon: UserPlus, label: (t) => t.people.team.invite },
]
