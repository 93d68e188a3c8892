/** What the navigation shows: one row for each page, in groups. A row without its permission is not shown. */
import type { IconComponent } from '#dashboard/src/ui/icon.tsx'
import {
  AtSign,
  Ban,
  Bell,
  Building2,
  ClipboardCheck,
  FileText,
  Gauge,
  Globe,
  Inbox,
  KeyRound,
  Layers,
  LayoutDashboard,
  LayoutTemplate,
  ListChecks,
  ListRestart,
  Lock,
  MailSearch,
  Megaphone,
  Network,
  Plug,
  Radar,
  ScrollText,
  Send,
  Server,
  Settings,
  ShieldAlert,
  ShieldCheck,
  SlidersHorizontal,
  UserRound,
  Users,
  Webhook,
  Workflow,
} from '#dashboard/src/ui/icons.tsx'
import type { Texts } from '#dashboard/src/texts/en/en.ts'

type Names = Texts['shell']['navigation']

export interface NavigationItem {
  /** Below the address of the workspace, or of the operator area. */
  readonly path: string
  readonly icon: IconComponent
  readonly label: (names: Names) => string
  /** A role without it does not see the page. */
  readonly permission?: string
  /** Two keys, one after the other. */
  readonly keys?: string
}

export interface NavigationGroup {
  readonly title: ((names: Names) => string) | null
  readonly items: readonly NavigationItem[]
}

export const WORKSPACE_NAVIGATION: readonly NavigationGroup[] = [
  {
    title: null,
    items: [
      { path: '/start', icon: ListChecks, label: (names) => names.start, permission: 'workspace:read' },
      {
        path: '/overview',
        icon: LayoutDashboard,
        label: (names) => names.overview,
        permission: 'mail:read',
        keys: 'g o',
      },
      { path: '/messages', icon: Send, label: (names) => names.messages, permission: 'mail:read', keys: 'g m' },
      { path: '/inbox', icon: Inbox, label: (names) => names.inbox, permission: 'mail:read', keys: 'g i' },
      { path: '/received', icon: MailSearch, label: (names) => names.received, permission: 'inbound:read' },
    ],
  },
  {
    title: (names) => names.audience,
    items: [
      { path: '/audiences', icon: Users, label: (names) => names.audiences, permission: 'audiences:read', keys: 'g a' },
      {
        path: '/contacts',
        icon: UserRound,
        label: (names) => names.contacts,
        permission: 'contacts:read',
        keys: 'g c',
      },
      {
        path: '/campaigns',
        icon: Megaphone,
        label: (names) => names.campaigns,
        permission: 'campaigns:read',
        keys: 'g k',
      },
      { path: '/automations', icon: Workflow, label: (names) => names.automations, permission: 'automations:read' },
      {
        path: '/templates',
        icon: LayoutTemplate,
        label: (names) => names.templates,
        permission: 'templates:read',
        keys: 'g t',
      },
      { path: '/suppressions', icon: Ban, label: (names) => names.suppressions, permission: 'suppressions:read' },
    ],
  },
  {
    title: (names) => names.configure,
    items: [
      { path: '/domains', icon: Globe, label: (names) => names.domains, permission: 'domains:read', keys: 'g d' },
      { path: '/keys', icon: KeyRound, label: (names) => names.keys, permission: 'keys:read' },
      { path: '/smtp', icon: AtSign, label: (names) => names.smtp, permission: 'workspace:read' },
      { path: '/accounts', icon: Plug, label: (names) => names.accounts, permission: 'accounts:read' },
      { path: '/webhooks', icon: Webhook, label: (names) => names.webhooks, permission: 'webhooks:read' },
    ],
  },
  {
    title: (names) => names.manage,
    items: [
      { path: '/deliverability', icon: Gauge, label: (names) => names.deliverability, permission: 'mail:read' },
      { path: '/team', icon: Building2, label: (names) => names.team, permission: 'workspace:read' },
      { path: '/audit', icon: ScrollText, label: (names) => names.audit, permission: 'audit:read' },
      { path: '/settings', icon: Settings, label: (names) => names.settings, permission: 'workspace:read' },
    ],
  },
]

export const OPERATOR_NAVIGATION: readonly NavigationGroup[] = [
  {
    title: null,
    items: [
      { path: '/desk', icon: Gauge, label: ({ operator }) => operator.desk },
      { path: '/checks', icon: ClipboardCheck, label: ({ operator }) => operator.checks },
      { path: '/notices', icon: Bell, label: ({ operator }) => operator.notices },
      { path: '/queue', icon: Layers, label: ({ operator }) => operator.queue },
      { path: '/receivers', icon: Radar, label: ({ operator }) => operator.receivers },
      { path: '/shaping', icon: SlidersHorizontal, label: ({ operator }) => operator.shaping },
      { path: '/sources', icon: Network, label: ({ operator }) => operator.sources },
    ],
  },
  {
    title: ({ operator }) => operator.reportGroup,
    items: [
      { path: '/reports', icon: FileText, label: ({ operator }) => operator.reports },
      { path: '/held', icon: ShieldAlert, label: ({ operator }) => operator.held },
      { path: '/reviews', icon: ListRestart, label: ({ operator }) => operator.reviews },
      { path: '/tls', icon: Lock, label: ({ operator }) => operator.tls },
      { path: '/dmarc', icon: ShieldCheck, label: ({ operator }) => operator.dmarc },
    ],
  },
  {
    title: (names) => names.manage,
    items: [
      { path: '/nodes', icon: Server, label: ({ operator }) => operator.nodes },
      { path: '/workspaces', icon: Building2, label: ({ operator }) => operator.workspaces },
      { path: '/users', icon: Users, label: ({ operator }) => operator.users },
      { path: '/audit', icon: ScrollText, label: ({ operator }) => operator.audit },
    ],
  },
]
