"""What a command must not see.

Home is visible, so that toolchains in it work. What lets someone act in the user's name is hidden. Sockets are masked
wherever they are: see `sockets`.
"""

import re

# Below home: keys, tokens, agents' own settings, browsers, histories of what was typed.
HOME_SECRETS = (
    # keys and passwords
    *(".ssh", ".gnupg", ".pki", ".password-store", ".vault-token", ".netrc", ".git-credentials", ".pgpass", ".my.cnf"),
    *(".mylogin.cnf", ".config/git/credentials", ".config/op", ".config/1Password", ".config/Bitwarden"),
    *(".config/keepassxc", ".local/share/keyrings", ".local/share/kwalletd", ".gnome2/keyrings"),
    *(".1password", ".config/Bitwarden CLI", ".bitwarden-ssh-agent.sock", ".config/rbw", ".local/share/rbw"),
    *(".cache/rbw", ".config/gopass", ".local/share/gopass", ".config/lpass", ".local/share/lpass", ".lpass", ".age"),
    *(".config/age", ".config/sops", ".config/Yubico", ".yubico", ".step", ".putty", ".config/putty", ".gitcookies"),
    *(".git-credential-cache", ".cache/git/credential", ".config/environment.d", ".pam_environment", ".env"),
    *(".secrets", ".pg_service.conf", ".authinfo", ".authinfo.gpg", ".emacs.d/server", ".config/emacs/server"),
    *(".config/remmina", ".local/share/remmina", ".config/filezilla", ".config/borg", ".config/restic"),
    # clouds and clusters
    *(".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers", ".oci", ".aliyun", ".bluemix"),
    *(".boto", ".s3cfg", ".config/rclone", ".config/doctl", ".config/hcloud", ".fly", ".config/heroku", ".heroku"),
    *(".config/netlify", ".config/vercel", ".local/share/com.vercel.cli", ".pulumi", ".terraform.d", ".terraformrc"),
    *(".minikube", ".colima", ".lima", ".orbstack", ".rd", ".databrickscfg", ".snowflake", ".config/ngrok", ".tsh"),
    *(".config/.wrangler", ".wrangler", ".cloudflared", ".config/cloudflared", ".config/stripe", ".config/configstore"),
    *(".railway", ".supabase", ".doppler", ".config/helm", ".config/argocd", ".argocd", ".config/scw", ".mc"),
    *(".config/openstack", ".config/linode-cli", ".config/exoscale", ".civo.json", ".vultr-cli.yaml", ".ngrok2"),
    *(".config/neonctl", ".config/planetscale", ".config/turso", ".config/firebase", ".config/atlascli", ".render"),
    *(".config/tailscale", ".local/share/tailscale", ".config/netbird", ".awsvault", ".saml2aws", ".infisical"),
    *(".chef", ".vagrant.d", ".config/Lens", ".config/nebius", ".nebius", ".runpod", ".vast_api_key", ".modal.toml"),
    *(".config/vastai", ".sky", ".dstack", ".dbt", ".snowsql", ".config/snowflake", ".config/syncthing", ".dropbox"),
    *(".local/state/syncthing", ".config/Nextcloud", ".config/maestral", ".config/onedrive", ".teleport"),
    # code hosts and package registries
    *(".config/gh", ".config/hub", ".config/glab-cli", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".m2/settings.xml"),
    *(".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json"),
    *(".config/NuGet", ".nuget/NuGet", ".hex", ".subversion/auth", ".kaggle", ".huggingface"),
    *(".cache/huggingface/token", ".config/wandb", ".config/sentry", ".sentryclirc"),
    *(".cache/huggingface/stored_tokens", ".config/kaggle", ".config/pypoetry", ".local/share/uv/credentials"),
    *(".config/uv/uv.toml", ".pip", ".config/hatch", ".config/pdm", ".ivy2/.credentials", ".sbt/.credentials"),
    *(".config/coursier", ".bunfig.toml", ".config/pnpm", ".config/yarn", ".local/share/gem/credentials", ".condarc"),
    *(".continuum", ".jfrog", ".config/tea", ".config/.jira", ".jira.d", ".arcrc", ".circleci", ".travis", ".netlify"),
    *(".config/buildkite", ".mlflow", ".lightning", ".comet.config", ".config/act", ".actrc"),
    # agents, Deskmate among them
    *(".config/deskmate", ".local/state/deskmate", ".claude", ".claude.json", ".config/claude", ".codex", ".gemini"),
    *(".copilot", ".config/github-copilot", ".cursor", ".config/Cursor", ".aider.conf.yml", ".continue", ".qwen"),
    *(".config/opencode", ".local/share/opencode", ".config/goose", ".config/io.datasette.llm", ".openclaw", ".amp"),
    *(".local/share/goose", ".config/amp", ".local/share/amp", ".config/zed", ".local/share/zed", ".codeium"),
    *(".windsurf", ".config/Windsurf", ".cline", ".roo", ".config/crush", ".local/share/crush", ".factory", ".augment"),
    *(".kiro", ".local/share/amazon-q", ".trae", ".junie", ".config/aichat", ".config/mods", ".config/fabric"),
    *(".config/shell_gpt", ".config/gptme", ".openai", ".config/openai", ".anthropic", ".config/anthropic", ".aider"),
    *(".ollama/id_ed25519", ".ollama/history", ".lmstudio/.internal", ".sourcegraph", ".config/sourcegraph", ".grok"),
    *(".kimi", ".pi", ".tabnine", ".supermaven", ".mcp-auth", ".config/mcp"),
    # editors and notebooks: the tokens of their extensions and of signed-in users
    *(".config/Code/User/globalStorage", ".config/Code - Insiders/User/globalStorage"),
    *(".config/VSCodium/User/globalStorage", ".vscode-server/data/User/globalStorage", ".config/JetBrains"),
    *(".local/share/JetBrains", ".local/share/DBeaverData", ".config/Postman", ".config/Insomnia"),
    *(".local/share/jupyter/runtime", ".jupyter", ".ipython/profile_default/security"),
    # browsers, mail, chat
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge"),
    *(".config/vivaldi", ".config/opera", ".thunderbird", ".config/Slack", ".config/discord", ".config/Signal"),
    *(".local/share/TelegramDesktop", ".var/app", "snap", ".local/share/evolution", ".config/evolution"),
    *(".config/google-chrome-beta", ".config/google-chrome-unstable", ".librewolf", ".waterfox", ".zen"),
    *(".local/share/epiphany", ".local/share/qutebrowser", ".config/goa-1.0", ".config/Element", ".config/Mattermost"),
    *(".config/teams-for-linux", ".purple", ".weechat", ".config/weechat", ".irssi", ".msmtprc", ".config/msmtp"),
    *(".mbsyncrc", ".isyncrc", ".offlineimaprc", ".fetchmailrc", ".config/himalaya", ".config/aerc", ".muttrc"),
    *(".mutt", ".config/mutt", ".config/neomutt"),
    # wallets
    *(".bitcoin", ".ethereum", ".electrum", ".config/solana", ".monero", ".foundry/keystores", ".sui", ".aptos"),
    *(".near-credentials", ".config/Exodus", ".config/Ledger Live"),
    # sessions of the desktop
    *(".Xauthority", ".ICEauthority"),
    # what was typed
    *(".bash_history", ".zsh_history", ".zhistory", ".histfile", ".local/share/fish/fish_history", ".python_history"),
    *(".node_repl_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst"),
    *(".viminfo", ".local/state/nvim", ".local/share/recently-used.xbel", ".local/share/atuin", ".config/atuin"),
    *(".local/share/mcfly", ".ipython/profile_default/history.sqlite", ".config/nushell/history.txt", ".history"),
    *(".config/nushell/history.sqlite3", ".config/fish/fish_variables", ".ash_history", ".ksh_history", ".sh_history"),
    *(".bash_sessions", ".zsh_sessions", ".local/state/bash", ".local/state/zsh", ".local/share/zsh", ".irb_history"),
    *(
        ".config/zsh/.zsh_history",
        ".pry_history",
        ".Rhistory",
        ".gdb_history",
        ".mongodb",
        ".dbshell",
        ".mycli-history",
    ),
    *(".duckdb_history", ".config/pgcli/history", ".config/litecli/history", ".clickhouse-client-history"),
)

# Variables that move what is below one of these folders of a home, all of it or a part.
MOVED = {
    "XDG_CONFIG_HOME": ".config/",
    "XDG_DATA_HOME": ".local/share/",
    "XDG_STATE_HOME": ".local/state/",
    "XDG_CACHE_HOME": ".cache/",
    "CARGO_HOME": ".cargo/",
    "GRADLE_USER_HOME": ".gradle/",
    "COMPOSER_HOME": ".composer/",
    "BUNDLE_USER_HOME": ".bundle/",
    "HF_HOME": ".cache/huggingface/",
    "IPYTHONDIR": ".ipython/",
    "ZDOTDIR": "",
}

# Variables whose value is such a file or folder, or several with colons between.
NAMED = frozenset(
    {
        *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG", "KUBECONFIG"),
        *("DOCKER_CONFIG", "DOCKER_CERT_PATH", "HELM_CONFIG_HOME", "HELM_REGISTRY_CONFIG", "TF_CLI_CONFIG_FILE"),
        *(
            "GNUPGHOME",
            "PASSWORD_STORE_DIR",
            "NETRC",
            "PGPASSFILE",
            "PGSERVICEFILE",
            "PGSYSCONFDIR",
            "VAULT_CONFIG_PATH",
        ),
        *("NPM_CONFIG_USERCONFIG", "npm_config_userconfig", "PIP_CONFIG_FILE", "BUNDLE_USER_CONFIG", "CONDARC"),
        *("GH_CONFIG_DIR", "GLAB_CONFIG_DIR", "RCLONE_CONFIG", "BOTO_CONFIG", "OCI_CLI_CONFIG_FILE", "PULUMI_HOME"),
        *("BITWARDENCLI_APPDATA_DIR", "DOPPLER_CONFIG_DIR", "SNOWFLAKE_HOME", "DBT_PROFILES_DIR", "KAGGLE_CONFIG_DIR"),
        *("DATABRICKS_CONFIG_FILE", "KRB5CCNAME", "KRB5_KTNAME", "KRB5_CLIENT_KTNAME", "XAUTHORITY", "ICEAUTHORITY"),
        *("XDG_RUNTIME_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "CLAUDE_CONFIG_DIR"),
        *("CODEX_HOME", "GEMINI_CLI_HOME", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OLLAMA_HISTORY", "HISTFILE"),
        *("LESSHISTFILE", "NODE_REPL_HISTORY", "PYTHON_HISTORY", "PSQL_HISTORY", "MYSQL_HISTFILE", "SQLITE_HISTORY"),
        *("REDISCLI_HISTFILE", "ATUIN_DB_PATH", "ATUIN_KEY_PATH"),
    }
)
# Any other variable whose name says that it is one, such as GOOGLE_APPLICATION_CREDENTIALS or SOPS_AGE_KEY_FILE.
SPEAKING = re.compile(
    r"CREDENTIALS?$|(?:^|_)(?:CREDENTIALS?|TOKEN|SECRETS?|PASSWORD|PASSWD|PASS|(?:API|PRIVATE)?KEY|KEYRING|AUTH)"
    r"_?(?:FILE|PATH|DIR)$",
    re.IGNORECASE,
)

# Only root can read these, but a confined command may run as root.
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

# Talking to one of these sockets can make things happen outside. A read-only mount does not prevent talking.
SOCKETS = ("/run", "/var/run", "/var/snap", "/var/lib/lxd", "/var/lib/incus", "/var/lib/libvirt")

# Below SOCKETS, but needed: NixOS has all its programs there.
PROGRAMS = ("/run/current-system",)

# Parts of /proc that root may write even without any capability. /proc/sys is handled separately.
KERNEL = ("acpi", "asound", "bus", "driver", "dynamic_debug", "fs", "irq", "mtrr", "scsi", "sysrq-trigger")
