"""Masks: what a confined command must not see of this machine, as tables of names.

Home is visible, so that toolchains in it work; what lets someone act in the user's name is not. `sandbox` above
lays them over what is there.
"""

# Below home: keys, tokens, agents' own settings, browsers, what was typed.
HOME_SECRETS = (
    # keys and passwords
    *(".ssh", ".gnupg", ".pki", ".password-store", ".vault-token", ".netrc", ".git-credentials", ".pgpass", ".my.cnf"),
    *(".mylogin.cnf", ".config/git/credentials", ".config/op", ".config/1Password", ".config/Bitwarden"),
    *(".config/keepassxc", ".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings"),
    # clouds and clusters
    *(".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers", ".oci", ".aliyun", ".bluemix"),
    *(".boto", ".s3cfg", ".config/rclone", ".config/doctl", ".config/hcloud", ".fly", ".config/heroku", ".heroku"),
    *(".config/netlify", ".config/vercel", ".local/share/com.vercel.cli", ".pulumi", ".terraform.d", ".terraformrc"),
    *(".minikube", ".colima", ".lima", ".orbstack", ".rd", ".databrickscfg", ".snowflake", ".config/ngrok", ".tsh"),
    # code hosts and package registries
    *(".config/gh", ".config/hub", ".config/glab-cli", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".m2/settings.xml"),
    *(".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json"),
    *(".config/NuGet", ".nuget/NuGet", ".hex", ".subversion/auth", ".kaggle", ".huggingface"),
    *(".cache/huggingface/token", ".config/wandb", ".config/sentry", ".sentryclirc"),
    # agents, Deskmate among them
    *(".config/deskmate", ".local/state/deskmate", ".claude", ".claude.json", ".config/claude", ".codex", ".gemini"),
    *(".copilot", ".config/github-copilot", ".cursor", ".config/Cursor", ".aider.conf.yml", ".continue", ".qwen"),
    *(".config/opencode", ".local/share/opencode", ".config/goose", ".config/io.datasette.llm", ".openclaw", ".amp"),
    # browsers, mail, chat
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge"),
    *(".config/vivaldi", ".config/opera", ".thunderbird", ".config/Slack", ".config/discord", ".config/Signal"),
    *(".local/share/TelegramDesktop", ".var/app", "snap", ".local/share/evolution", ".config/evolution"),
    # wallets
    *(".bitcoin", ".ethereum", ".electrum", ".config/solana", ".monero"),
    # sessions of the desktop
    *(".Xauthority", ".ICEauthority"),
    # what was typed
    *(".bash_history", ".zsh_history", ".zhistory", ".histfile", ".local/share/fish/fish_history", ".python_history"),
    *(".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst"),
    *(".viminfo", ".local/state/nvim", ".local/share/recently-used.xbel"),
)

# Readable for root alone, and a confined command may run as root.
SYSTEM_SECRETS = (
    *("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private", "/etc/krb5.keytab"),
    *(
        "/etc/letsencrypt",
        "/etc/pki/tls/private",
        "/etc/wireguard",
        "/etc/NetworkManager/system-connections",
        "/etc/kubernetes",
    ),
    *("/etc/rancher", "/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/spool/cron", "/var/log"),
    "/etc/ssh/*_key",
)

# Who may talk to one of these sockets may have anything done outside: a read-only folder does not keep from talking.
SOCKETS = ("/run", "/var/run", "/var/snap", "/var/lib/lxd", "/var/lib/incus", "/var/lib/libvirt")

# Below SOCKETS, and yet needed: one system has all its programs there.
PROGRAMS = ("/run/current-system",)

# Of the kernel, in /proc, what root may write there even without any capability; /proc/sys besides.
KERNEL = ("acpi", "asound", "bus", "driver", "dynamic_debug", "fs", "irq", "mtrr", "scsi", "sysrq-trigger")
